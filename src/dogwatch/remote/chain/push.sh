
# One notification at the end -------------------------------------------------------------------------------------
# push.conf (0600) is a configuration of curl: where to send, with whatever secret is in it. Nothing of it is ever an
# argument of a program, which every user of the machine could read. Its first line says the way.

push() { # WHY CODE; a claim is made first, so that no ending is pushed twice
    [ -e push.conf ] && mkdir "pushing-$dw_attempt" 2>/dev/null || return 0
    dw_way=$(sed -n '1s/^# way //p' push.conf)
    subject "$1" "$2" >push.subject
    last_lines "stage-$dw_k.log" "$dw_lines" >push.lines
    dw_detail='the push did not begin'
    for dw_pause in 0 5 15 45 120; do
        sleep "$dw_pause"
        "push_$dw_way" "$1" "$2"
        dw_result=$?
        [ "$dw_result" = 1 ] || break # 0 is sent, 2 will never be
    done
    pushed "$([ "$dw_result" = 0 ] && echo true || echo false)"
    rm -f push.subject push.lines push.body push.more push.url push.py
}

pushed() { # true|false
    dw_text="{\"at\":$(now),\"attempt\":$dw_attempt,\"ok\":$1,\"way\":\"$dw_way\",\"detail\":$(quoted "$dw_detail")}"
    put pushed.json "$dw_text" || { rm -f reserve; put pushed.json "$dw_text"; }
    narrate "push by $dw_way: $dw_detail"
}

push_what_was_not_pushed() { # of a chain that has ended, where the supervisor died before it could
    dw_attempt=$(attempts)
    [ -e end.json ] && [ -e push.conf ] && [ "$dw_attempt" != 0 ] && ! owner_alive || return 0
    [ "$(number pushed.json attempt)" != "$dw_attempt" ] || return 0
    dw_way=$(sed -n '1s/^# way //p' push.conf)
    dw_k=$(first_unfinished)
    [ "$dw_k" -lt "$dw_count" ] || dw_k=$((dw_count - 1))
    dw_stage "$dw_k"
    if [ -e "pushing-$dw_attempt" ]; then
        dw_detail='the supervisor was killed while it pushed; it may have arrived, and is not sent again'
        pushed false
    else
        push "$(text end.json why)" "$(number end.json code)" >/dev/null
    fi
}

subject() { # WHY CODE
    dw_what="stage $dw_name failed with exit code $2"
    case $1 in
    done) dw_what="done, all $dw_count stages" && [ "$dw_count" -gt 1 ] || dw_what=done ;;
    cancelled) dw_what="cancelled in stage $dw_name" ;;
    unknown) dw_what="stage $dw_name ended, exit code unknown" ;;
    *) [ "$2" != null ] || dw_what="stopped at stage $dw_name" ;;
    esac
    printf '%s: %s on %s\n' "$dw_title" "$dw_what" "$(uname -n)" | clean
    [ -z "$dw_error" ] || printf '%s\n' "$dw_error" | clean
}

lines_as_json() { sed 's/[\\"]/\\&/g; s/.*/"&"/' push.lines | tr '\n' ',' | sed 's/,$//'; }
text_as_json() { cat push.subject push.lines | sed 's/[\\"]/\\&/g' | awk '{ printf "%s\\n", $0 }'; }
level() { if [ "$1" = done ]; then echo info; else echo critical; fi; }
first_subject() { head -n 1 push.subject; }

push_webhook() {
    printf '{"version":1,"key":"%s:%s","level":"%s","subject":%s,"text":"%s","content":%s,"run":"%s","name":%s,"host":%s,"attempt":%s,"stage":"%s","code":%s,"why":"%s","at":%s,"lines":[%s]}\n' \
        "$dw_run" "$dw_attempt" "$(level "$1")" "$(quoted "$(first_subject)")" "$(text_as_json)" "$(quoted "$(first_subject)")" \
        "$dw_run" "$(quoted "$dw_title")" "$(quoted "$(uname -n)")" "$dw_attempt" "$dw_name" "$2" "$1" "$(now)" "$(lines_as_json)" >push.body
    printf 'header = "Content-Type: application/json"\nheader = "Idempotency-Key: %s:%s"\n' "$dw_run" "$dw_attempt" >push.more
    post
}

push_ntfy() {
    { tail -n +2 push.subject; cat push.lines; } >push.body
    [ -s push.body ] || first_subject >push.body
    {
        printf 'header = "Title: %s"\n' "$(first_subject | LC_ALL=C tr '\200-\377' '?' | sed 's/[\\"]/\\&/g')"
        if [ "$1" = done ]; then printf 'header = "Tags: white_check_mark"\n'; else printf 'header = "Priority: high"\nheader = "Tags: warning"\n'; fi
    } >push.more
    post
}

post() { # push.body to the url of push.conf: 0 taken, 1 try again, 2 refused for good
    if command -v curl >/dev/null; then post_with_curl
    elif command -v python3 >/dev/null; then post_with_python
    elif wget --version 2>/dev/null | grep -q GNU; then post_with_wget
    else
        dw_detail='neither curl nor python3 nor GNU wget is here'
        return 2
    fi
}

post_with_curl() {
    dw_status=$(curl -sS -K push.conf -K push.more --data-binary @push.body --max-time 20 -o /dev/null -w '%{http_code}' 2>/dev/null)
    dw_exit=$?
    [ "$dw_exit" = 0 ] || { dw_detail="curl ended with exit code $dw_exit ($(curl_says "$dw_exit"))"; return 1; }
    judge "$dw_status"
}

curl_says() { # its own messages may repeat the address
    case $1 in
    5 | 6) echo 'the name could not be resolved' ;;
    7) echo 'the server could not be reached' ;;
    28) echo 'no answer in time' ;;
    35 | 51 | 58 | 60) echo 'no trusted connection' ;;
    *) echo 'see man curl' ;;
    esac
}

judge() { # STATUS
    dw_detail="the server answered $1"
    case $1 in
    2??) return 0 ;;
    408 | 421 | 423 | 425 | 429) return 1 ;;
    3?? | 4??) return 2 ;;
    esac
    return 1
}

post_with_python() {
    dw_status=$(python3 -I -c 'import re, sys, urllib.error, urllib.parse, urllib.request, base64
values = lambda key: [v.replace("\\\"", "\"").replace("\\\\", "\\") for f in ("push.conf", "push.more")
                      for v in re.findall("(?m)^" + key + " = \"(.*)\"$", open(f, encoding="utf-8").read())]
url = urllib.parse.urlsplit(values("url")[0])
heads = dict(h.split(": ", 1) for h in values("header"))
if url.username is not None:
    pair = urllib.parse.unquote(url.username) + ":" + urllib.parse.unquote(url.password or "")
    heads["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
bare = urllib.parse.urlunsplit(url._replace(netloc=url.netloc.rpartition("@")[2]))
try:
    print(urllib.request.urlopen(urllib.request.Request(bare, open("push.body", "rb").read(), heads), timeout=20).status)
except urllib.error.HTTPError as error:
    print(error.code)' 2>/dev/null)
    [ -n "$dw_status" ] || { dw_detail='python3 could not reach the server'; return 1; }
    judge "$dw_status"
}

post_with_wget() {
    sed -n 's/^url = "\(.*\)"$/\1/p' push.conf | sed 's/\\\([\\"]\)/\1/g' >push.url
    set --
    while IFS= read -r dw_each; do
        dw_each=${dw_each#header = \"}
        set -- "$@" "--header=${dw_each%\"}"
    done <push.more
    wget -q -O /dev/null -T 20 -t 1 --auth-no-challenge --post-file=push.body "$@" -i push.url 2>/dev/null
    dw_exit=$?
    rm -f push.url
    dw_detail="wget ended with exit code $dw_exit"
    [ "$dw_exit" != 0 ] || { dw_detail='the server took it (wget)'; return 0; }
    return 1
}

push_mail() {
    dw_to=$(sed -n 's/^# to //p' push.conf)
    { printf 'To: %s\nSubject: %s\n\n' "$dw_to" "$(first_subject | LC_ALL=C tr '\200-\377' '?')"; cat push.subject push.lines; } >push.body
    if PATH=$PATH:/usr/sbin:/usr/lib command -v sendmail >/dev/null; then
        PATH=$PATH:/usr/sbin:/usr/lib sendmail -oi -t <push.body 2>/dev/null
    elif command -v mail >/dev/null; then
        tail -n +4 push.body | mail -s "$(first_subject)" "$dw_to" 2>/dev/null
    else
        dw_detail='neither sendmail nor mail is here'
        return 2
    fi
    dw_exit=$?
    dw_detail="the mail command ended with exit code $dw_exit"
    [ "$dw_exit" = 0 ] || return 1
}

push_trackio() {
    printf '{"project":%s,"space":%s,"run":"%s","level":"%s","title":%s,"text":"%s"}\n' \
        "$(quoted "$(sed -n 's/^# project //p' push.conf)")" "$(quoted "$(sed -n 's/^# space //p' push.conf)")" \
        "$dw_run" "$([ "$1" = done ] && echo INFO || echo ERROR)" "$(quoted "$(first_subject)")" "$(text_as_json)" >push.body
    cat >push.py <<'PYTHON'
import json, sys
told = json.load(open("push.body", encoding="utf-8"))
try:
    import trackio
except ImportError:
    sys.exit(66)
more = {"space_id": told["space"]} if told["space"] else {}
trackio.init(project=told["project"], name=told["run"], **more)
trackio.alert(title=told["title"], text=told["text"], level=getattr(trackio.AlertLevel, told["level"]))
trackio.finish()
PYTHON
    (. ./environment.sh && python3 push.py) </dev/null >/dev/null 2>push.err
    dw_exit=$?
    dw_detail="trackio took the alert"
    case $dw_exit in
    0) rm -f push.err; return 0 ;;
    66) dw_detail='the python3 of this machine has no trackio'; return 2 ;;
    127) dw_detail='there is no python3 for trackio'; return 2 ;;
    esac
    dw_detail="trackio failed: $(clean <push.err | mask | tail -n 1)"
    return 1
}
