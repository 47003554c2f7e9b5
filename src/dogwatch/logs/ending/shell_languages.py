"""What shells, and the tools that scripts call, say where the language is not English.

Python and the schedulers speak English everywhere; the shell that runs a script does not. Text is made lower-case byte
by byte, so a letter beyond ASCII stays as it was: a word that may begin with either is looked for without it.
"""

from __future__ import annotations

KILLED = (
    *("已杀死", "已砍掉", "強制終了", "죽었음", "getötet", "processus arrêté", r"terminado \(killed\)", "ucciso"),
    *("morto", "бито", "unicestwiony", r"zabit \(sigkill\)"),
)
FAULTED = (
    *("段错误", "程式記憶體區段錯誤", "セグメンテーション違反", "세그멘테이션 오류", "세그멘테이션 결함"),
    *("speicherzugriffsfehler", "erreur de segmentation", "violación de segmento", "errore di segmentazione"),
    *("falha de segmentação", "шибка сегментирования", "naruszenie ochrony pamięci", r"neoprávněný přístup do paměti"),
)
ABORTED = (
    *("已放弃", "已中止", "放棄", "中止されました", "abgebrochen", "abandon", "abortado", "annullato"),
    *("варийный останов", "przerwane", r"neúspěšně ukončen \(sigabrt\)"),
)
NO_COMMAND = (
    *("未找到命令", "找不到命令", "未找到指令", "指令找不到", "コマンドが見つかりません", "명령어를 찾을 수 없음"),
    *("명령을 찾을 수 없습니다", "kommando nicht gefunden", "befehl nicht gefunden", "commande introuvable"),
    *("commande non trouvée", "orden no encontrada", "no se encontró la orden", "comando non trovato"),
    *("comando não encontrado", "команда не найдена", "nie znaleziono polecenia", "příkaz nenalezen"),
)
NO_FILE = (
    *("没有那个文件或目录", "沒有此一檔案或目錄", "そのようなファイルやディレクトリはありません"),
    *("그런 파일이나 디렉터리가 없습니다", "datei oder verzeichnis nicht gefunden"),
    *("aucun fichier ou dossier de ce type", r"no existe el (?:fichero|archivo) o el directorio"),
    *("file o directory non esistente", "arquivo ou diretório inexistente", "ет такого файла или каталога"),
    *("nie ma takiego pliku ani katalogu", "adresář nebo soubor neexistuje", "bestand of map bestaat niet"),
)
NO_RIGHT = (
    *("权限不够", "拒絕不符權限的操作", "許可がありません", "허가 거부", "keine berechtigung"),
    *("permission non accordée", "permiso denegado", "permesso negato", "permissão negada", "тказано в доступе"),
    *("brak dostępu",),
)
NO_SPACE = (
    *("设备上没有空间", "裝置上已無多餘空間", "デバイスに空き領域がありません", "장치에 남은 공간이 없음"),
    *("kein speicherplatz mehr verfügbar", "aucun espace disponible sur le périphérique"),
    *("no queda espacio en el dispositivo", "spazio esaurito sul device", "não há espaço disponível no dispositivo"),
    *("а устройстве не осталось свободного места",),
)
NOHUP = (
    *("忽略输入", "忽略輸入", "入力を無視", "입력 무시", "eingabe wird ignoriert", "les entrées sont ignorées"),
    *("se descarta la entrada", "ignorando a entrada"),
)

_LETTER = "(?:[^ -~]{1,2})?"  # as characters or as bytes


def needles(words: tuple[str, ...]) -> tuple[str, ...]:
    """A literal of each: what stands before anything that a pattern only allows."""
    return tuple(word.partition("(")[0].rstrip("\\ ").removesuffix("?:") for word in words)


def of_a_process(words: tuple[str, ...]) -> str:
    """A pattern for how a shell tells that a signal ended a command: alone on its line, or `go.sh: 行 3:  4411 已杀死`;
    what stands before a word without its first letter is that letter."""
    either = f"{_LETTER}(?:{'|'.join(words)})"
    core = r"(?:\s{0,2}(?:\(|（).{0,60})?"
    line = r"^[^\s:]{1,200}: .{1,30}(?::|：)\s{1,8}\d{1,10} "
    return rf"^\s{{0,4}}{either}{core}\s{{0,4}}$|{line}{either}(?:\s|$|\(|（)"


def complaint(words: tuple[str, ...]) -> str:
    """A pattern for the end of a line in which a script complains: `go.sh: ligne 3 : fit : commande introuvable`."""
    return rf"^[^|]{{1,400}}(?::|：) {{0,3}}{_LETTER}(?:{'|'.join(words)})(?:\.|。)?\s{{0,4}}$"


def began(words: tuple[str, ...]) -> str:
    """A pattern for what nohup says first."""
    return rf"^nohup(?::|：) ?(?:{'|'.join(words)})"
