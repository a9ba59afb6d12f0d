"""Writes the Scala with which the kernel reads its documents and finds its operators, from the dataclasses with which Python writes them.

`make parts` runs it. It writes kernel/query/RelationalKinds.scala, and the files in kernel/document that begin with `NOTE`.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from headrace.errors import Site  # noqa: E402
from headrace.jvm.parts import Json, OneOf, Part, key_of  # noqa: E402
from headrace.ops.parts import LookupRequest, ProgramRequest, RelationRequest, RelationText, StepsRequest  # noqa: E402
from headrace.ops.relational import Relational  # noqa: E402
from headrace.plan.node import REGISTRY  # noqa: E402
from headrace.spark.compile.fields import Document  # noqa: E402
from headrace.spark.deploy.parts import DeploymentText, ExportText  # noqa: E402
from headrace.spark.inspect.parts import Inspection  # noqa: E402

KERNEL = ROOT / "src" / "headrace" / "kernel"
FOLDER = KERNEL / "document"
OPERATORS = KERNEL / "query" / "RelationalKinds.scala"
NOTE = "// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew."
WIDTH = 140

# The documents that Python sends, by the file with their parts. A part of several kinds has a file of its own.
DOCUMENTS: Mapping[str, tuple[type[Part], ...]] = {
    "Document": (Document,),
    "Requests": (StepsRequest, RelationRequest, LookupRequest, ProgramRequest),
    "Inspection": (Inspection,),
    "Deployment": (DeploymentText, ExportText),
}

Kinds = list[tuple[type[Part], str | None]]
"""The kinds of a part, each with its name in the JSON if it has one."""

_PLAIN: Mapping[Any, str] = {str: "String", int: "Long", bool: "Boolean", Site: "String", type(None): "None", Json: "JsonNode"}
_RESERVED = {"case", "class", "match", "object", "type", "val"}


def files() -> dict[str, str]:
    """Return the text of each file by its name."""
    by_file: dict[str, list[type[Part]]] = {}
    seen: set[type[Part]] = set()
    for name, roots in DOCUMENTS.items():
        for part in (part for root in roots for part in _reached(root, seen)):
            several = one_of(part)
            by_file.setdefault(name if several is None else scala_name(several), []).append(part)
    names = Counter(scala_name(part) for part in seen)
    if twice := [name for name, number in names.items() if number > 1]:
        raise ValueError(f"two parts are called {twice[0]}")
    return {f"{name}.scala": _file(parts) for name, parts in by_file.items()}


def _reached(part: type[Part], seen: set[type[Part]]) -> Iterator[type[Part]]:
    """Yield a part, and all parts inside it that were not seen before."""
    if part in seen:
        return
    seen.add(part)
    yield part
    inside = [inner for hint in hints(part).values() for inner in _inside(hint)]
    for inner in (*(kind for kind, _ in kinds(part)), *inside):
        yield from _reached(inner, seen)


def _inside(hint: Any) -> Iterator[type[Part]]:
    if isinstance(hint, type) and issubclass(hint, Part):
        yield hint
    for argument in get_args(hint):
        yield from _inside(argument)


def hints(part: type[Part]) -> dict[str, Any]:
    """Return the types of a part's fields, in the order of the JSON."""
    known = get_type_hints(part, include_extras=True)
    return {one.name: known[one.name] for one in part.ordered()}


def kinds(part: type[Part]) -> Kinds:
    """Return the kinds of a part, each with its name in the JSON; a kind without a name is last."""
    if part is RelationText:
        # The return type of `relation` is an operator's own class.
        operators = [(op, cls) for op, cls in sorted(REGISTRY.items()) if issubclass(cls, Relational) and _is_ours(cls)]
        return [(get_type_hints(cls.relation)["return"], op) for op, cls in operators]
    subclasses = part.__subclasses__() if issubclass(part, OneOf) and _has_kinds(part) else []
    return sorted(((one, one.kind_name) for one in subclasses if _is_ours(one)), key=lambda kind: kind[1] is None)


def _has_kinds(part: type[Part]) -> bool:
    return OneOf in part.__bases__


def _is_ours(cls: type) -> bool:
    """Return whether a class is headrace's own; a test may declare others."""
    return cls.__module__.startswith("headrace.")


def one_of(part: type[Part]) -> type[OneOf] | None:
    """Return the part whose kind this one is; the part itself, if it has kinds."""
    return next((base for base in part.__mro__ if issubclass(base, OneOf) and _has_kinds(base)), None)


def scala_name(part: type[Part]) -> str:
    return part.__name__ if part.__name__.endswith("Text") else f"{part.__name__}Text"


def scala_type(hint: Any) -> str:
    """Return the Scala type for a Python type.

    >>> scala_type(tuple[str, ...]), scala_type(tuple[tuple[str, int], ...] | None), scala_type(Mapping[str, bool])
    ('Seq[String]', 'Option[Seq[(String, Long)]]', 'Map[String, Boolean]')
    """
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, Part):
        return scala_name(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return str(hint.__metadata__[0])
    if origin in (Union, types.UnionType):
        (inner,) = (one for one in arguments if one is not type(None))
        return f"Option[{scala_type(inner)}]"
    if origin is tuple:
        inner = [scala_type(one) for one in arguments if one is not ...]
        return f"Seq[{inner[0]}]" if arguments[-1] is ... else f"({', '.join(inner)})"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"Map[String, {scala_type(arguments[1])}]"
    raise TypeError(f"the kernel reads no {hint}")


def field_type(one: Field[Any], hint: Any) -> str:
    """Return the Scala type of a field. An optional flag is false there if it is missing."""
    return "Boolean" if _is_flag(one, hint) else scala_type(hint)


def field_name(one: Field[Any]) -> str:
    first, *rest = key_of(one).split("_")
    name = first + "".join(word.capitalize() for word in rest)
    return f"`{name}`" if name in _RESERVED else name


def _is_flag(one: Field[Any], hint: Any) -> bool:
    return _may_lack(one) and hint == bool | None


def _may_lack(one: Field[Any]) -> bool:
    return one.default is None and not one.metadata.get("always")


def _reading(one: Field[Any], hint: Any) -> str:
    """Return the Scala that reads a field from `f`, the fields of its part."""
    if one.metadata.get("inline"):
        return _inline(hint, one.metadata["by"])
    key, kind = key_of(one), scala_type(hint)
    if _is_flag(one, hint):
        return f'f.flag("{key}")'
    return f'f.maybe[{kind.removeprefix("Option[")}("{key}")' if _may_lack(one) else f'f[{kind}]("{key}")'


def _inline(hint: Any, by: str | None) -> str:
    (part,) = _inside(hint)
    if by is not None:
        return f'{scala_name(part)}.of(f[String]("{by}"), f)'
    if hint is part:
        return f"{scala_name(part)}.of(f)"
    return f"{scala_name(part)}.maybe(f)" if kinds(part) else f'Option.when(f.has("{_first(part)}"))({scala_name(part)}.of(f))'


def _first(part: type[Part]) -> str:
    return key_of(part.ordered()[0])


def _file(parts: Iterable[type[Part]]) -> str:
    body = "\n".join(
        text for part in parts for text in (_several(part) if one_of(part) is part and issubclass(part, OneOf) else case_class(part))
    )
    imports = [
        line
        for word, line in {
            "JsonNode": "import com.fasterxml.jackson.databind.JsonNode",
            "StructType": "import org.apache.spark.sql.types.StructType",
        }.items()
        if re.search(rf"\b{word}\b", body)
    ]
    return "\n".join((NOTE, "package headrace.document", "", *imports, *([""] if imports else []), body))


def case_class(part: type[Part]) -> Iterator[str]:
    """Yield the case class of a part, and its reader."""
    name = scala_name(part)
    typed = hints(part)
    declared = [f"{field_name(one)}: {field_type(one, typed[one.name])}" for one in part.ordered()]
    several = one_of(part)
    yield _comment(part)
    yield _call(f"final case class {name}", declared, "    ", "" if several is None else f" extends {scala_name(several)}")
    yield ""
    yield f"object {name} {{"
    read = [_reading(one, typed[one.name]) for one in part.ordered()]
    yield _call(f"  private[document] def of(f: Fields): {name} = {name}", read, "    ")
    if several is None:
        yield f'  implicit val reader: Reader[{name}] = Reader.of("{name}")(of)'
    yield "}\n"


def _several(part: type[OneOf]) -> Iterator[str]:
    """Yield the trait of a part of several kinds, and the code that finds the kind."""
    name, known = scala_name(part), kinds(part)
    has_names = any(named is not None for _, named in known)
    yield _comment(part)
    yield from _trait(name, [dict(_declared(kind)) for kind, _ in known])
    yield f"object {name} {{"
    yield from (_by_name if has_names else _by_first_field)(name, known)
    if part.kind_field is not None:
        yield f'  private[document] def of(f: Fields): {name} = of(f[String]("{part.kind_field}"), f)'
    # A part whose kind is given by its surroundings is not read alone.
    if part.kind_field is not None or not has_names:
        yield f'  implicit val reader: Reader[{name}] = Reader.of("{name}")(of(_: Fields))'
    yield "}\n"


def _by_first_field(name: str, known: Kinds) -> Iterator[str]:
    yield f"  private[document] def maybe(f: Fields): Option[{name}] ="
    for number, (kind, _) in enumerate(known):
        yield f'    {"else " if number else ""}if (f.has("{_first(kind)}")) Some({scala_name(kind)}.of(f))'
    yield "    else None"
    yield f'  private[document] def of(f: Fields): {name} = maybe(f).getOrElse(throw f.noKind("{name}"))'


def _by_name(name: str, known: Kinds) -> Iterator[str]:
    yield f"  private[document] def of(kind: String, f: Fields): {name} = kind match {{"
    for kind, named in known:
        pattern = "_" if named is None else f'"{named}"'
        yield f"    case {pattern} => {scala_name(kind)}.of(f)"
    if all(named is not None for _, named in known):
        yield f'    case other => throw f.noKind("{name}", other)'
    yield "  }"


def _declared(part: type[Part]) -> Iterator[tuple[str, str]]:
    typed = hints(part)
    for one in part.ordered():
        yield field_name(one), field_type(one, typed[one.name])


def _trait(name: str, declared: list[dict[str, str]]) -> Iterator[str]:
    """Yield a trait with the fields that all kinds have."""
    shared = {field: kind for field, kind in declared[0].items() if all(one.get(field) == kind for one in declared)}
    if not shared:
        yield f"sealed trait {name}\n"
        return
    yield f"sealed trait {name} {{"
    yield from (f"  def {field}: {kind}" for field, kind in shared.items())
    yield "}\n"


def _call(head: str, arguments: list[str], indent: str, tail: str = "") -> str:
    """Return a list of arguments on one line, or on one line each."""
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= WIDTH:
        return line
    inner = ",\n".join(f"{indent}{one}" for one in arguments)
    return f"{head}(\n{inner})" + (f"\n{indent}{tail.strip()}" if tail else "")


def _comment(part: type[Part]) -> str:
    """Return the docstring of a class, with the Scala names of its fields."""
    text = inspect.cleandoc(part.__doc__ or "").split("\n\n>>>")[0]
    for one in part.ordered():
        text = text.replace(f"`{one.name}`", f"`{field_name(one).strip('`')}`")
    first, *rest = text.splitlines()
    if not rest:
        return f"/** {first} */"
    return "\n".join([f"/** {first}", *(f"  * {line}".rstrip() for line in rest), "  */"])


def operators() -> str:
    """Return the object of each operator of queries, by its class of text: `Top` for `TopText`, in any folder of operators."""
    names = sorted(scala_name(text) for text, _ in kinds(RelationText))
    folders = sorted(folder.name for folder in (KERNEL / "operator").iterdir() if folder.is_dir())
    return "\n".join(
        (
            NOTE,
            "package headrace.query",
            "",
            "import headrace.document._",
            "import headrace.operator._",
            *(f"import headrace.operator.{folder}._" for folder in folders),
            "",
            "/** The kind of an operator of queries: of `TopText` it is the object `Top`. */",
            "private[query] object RelationalKinds {",
            "  def of(relation: RelationText): Kinds.Of[_] = relation match {",
            *(f"    case text: {name} => new Kinds.Of({name.removesuffix('Text')}, text)" for name in names),
            "  }",
            "}",
            "",
        )
    )


def written() -> dict[str, str]:
    """Return the document files in the tree."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}
    return {name: text for name, text in texts.items() if text.startswith(NOTE)}


if __name__ == "__main__":
    for name in written().keys() - files().keys():
        (FOLDER / name).unlink()
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    OPERATORS.write_text(operators(), encoding="utf-8")
