"""What a user would do instead of importing Nirvana JSON: gzip and json of the standard library, line by line.

python3 nirvana_to_jsonl.py <input> <output>
"""

import gzip
import json
import sys


def main(source, target):
    count = 0
    with gzip.open(source, "rt", encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
        dumps = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
        next(lines)
        for line in lines:
            line = line.rstrip().rstrip(",")
            if not line.startswith("{"):
                break
            out.write(dumps(json.loads(line)))
            out.write("\n")
            count += 1
    print(count)


main(*sys.argv[1:])
