"""SARIF 2.1.0 as a JSON schema, for the properties that `check` writes: names, types, limits and what is required are
those of the OASIS standard's section 3; properties it does not write are refused, so that what passes is valid there.
The package pydantic-sarif, made from the standard's own schema, is asked as well.
"""

import jsonschema
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema

TEXT = {"type": "string"}
URI = {"type": "string", "format": "uri", "pattern": "^[a-z]+:"}
COUNT = {"type": "integer", "minimum": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"}
BAG = {
    "type": "object",
    "properties": {"tags": {"type": "array", "uniqueItems": True, "items": TEXT}},
}


def ref(name):
    return {"$ref": f"#/$defs/{name}"}


def array(items, at_least=0, unique=False):
    return {"type": "array", "minItems": at_least, "uniqueItems": unique, "items": items}


def record(required=(), **properties):
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {**properties, "properties": BAG},
    }


OBJECTS = {
    "message": {**record(text=TEXT, markdown=TEXT, id=TEXT), "anyOf": [{"required": ["text"]}, {"required": ["id"]}]},
    "multiformatMessageString": record(["text"], text=TEXT, markdown=TEXT),
    "artifactLocation": record(
        uri={"type": "string", "format": "uri-reference", "pattern": r"^[A-Za-z0-9._~:/%\-]*$"},
        uriBaseId=TEXT,
        index={"type": "integer", "minimum": -1},
    ),
    "artifactContent": record(text=TEXT),
    "region": {
        **record(startLine=COUNT, startColumn=COUNT, endLine=COUNT, endColumn=COUNT, snippet=ref("artifactContent")),
        "anyOf": [{"required": ["startLine"]}],
    },
    "physicalLocation": record(
        ["artifactLocation"],
        artifactLocation=ref("artifactLocation"),
        region=ref("region"),
        contextRegion=ref("region"),
    ),
    "logicalLocation": record(name=TEXT, fullyQualifiedName=TEXT, kind=TEXT),
    "location": record(
        physicalLocation=ref("physicalLocation"),
        logicalLocations=array(ref("logicalLocation"), unique=True),
        message=ref("message"),
    ),
    "threadFlowLocation": record(location=ref("location")),
    "threadFlow": record(["locations"], locations=array(ref("threadFlowLocation"), 1)),
    "codeFlow": record(["threadFlows"], threadFlows=array(ref("threadFlow"), 1)),
    "stackFrame": record(location=ref("location")),
    "stack": record(["frames"], frames=array(ref("stackFrame"))),
    "suppression": record(
        ["kind"],
        kind={"enum": ["inSource", "external"]},
        status={"enum": ["accepted", "underReview", "rejected"]},
        justification=TEXT,
    ),
    "result": record(
        ["message"],
        ruleId=TEXT,
        ruleIndex={"type": "integer", "minimum": -1},
        kind={"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
        level=LEVEL,
        message=ref("message"),
        locations=array(ref("location")),
        occurrenceCount=COUNT,
        partialFingerprints={"type": "object", "additionalProperties": TEXT},
        baselineState={"enum": ["new", "unchanged", "updated", "absent"]},
        suppressions=array(ref("suppression"), unique=True),
        codeFlows=array(ref("codeFlow")),
        stacks=array(ref("stack"), unique=True),
    ),
    "reportingDescriptor": record(
        ["id"],
        id=TEXT,
        name=TEXT,
        shortDescription=ref("multiformatMessageString"),
        fullDescription=ref("multiformatMessageString"),
        help=ref("multiformatMessageString"),
        helpUri=URI,
        defaultConfiguration=record(level=LEVEL),
    ),
    "toolComponent": record(
        ["name"],
        name=TEXT,
        version=TEXT,
        semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
        informationUri=URI,
        rules=array(ref("reportingDescriptor"), unique=True),
    ),
    "notification": record(["message"], message=ref("message"), level=LEVEL),
    "invocation": record(
        ["executionSuccessful"],
        arguments=array(TEXT),
        executionSuccessful={"type": "boolean"},
        exitCode={"type": "integer"},
        exitSignalName=TEXT,
        exitSignalNumber={"type": "integer"},
        startTimeUtc=TIME,
        endTimeUtc=TIME,
        workingDirectory=ref("artifactLocation"),
        toolExecutionNotifications=array(ref("notification")),
    ),
    "run": record(
        ["tool"],
        tool=record(["driver"], driver=ref("toolComponent")),
        invocations=array(ref("invocation")),
        originalUriBaseIds={"type": "object", "additionalProperties": ref("artifactLocation")},
        columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        results=array(ref("result")),
    ),
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {"$schema": URI, "version": {"const": "2.1.0"}, "runs": array(ref("run"))},
    "$defs": OBJECTS,
}


def is_sarif(log):
    """Fails unless it is a log that the standard allows."""
    jsonschema.Draft202012Validator(SCHEMA).validate(log)
    StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(log)
