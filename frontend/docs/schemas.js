/** JSON Schema and OpenAPI as what a reader sees: names of types, their limits, and the fields of an object. Pure. */

/**
 * @typedef {{[keyword: string]: any}} Schema
 * @typedef {{name: string, type: string, about: string, refs: string[]}} Field
 * @typedef {{method: string, path: string, summary: string, about: string, tag: string, parameters: Field[], body: Schema | null,
 *   answers: {status: string, about: string, schema: Schema | null}[]}} Operation
 */

const METHODS = ["get", "post", "put", "patch", "delete"];
const RANGES = [
  ["minLength", "maxLength", " characters"],
  ["minItems", "maxItems", " entries"],
  ["minimum", "maximum", ""],
];

/** The name of the schema a reference leads to. @param {string} ref */
export function nameOf(ref) {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** What a value must be, e.g. "list of string, or null". @param {Schema} schema @returns {string} */
export function typeOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map(typeOf).join(", or ");
  if (schema.enum) return schema.enum.map((/** @type {unknown} */ each) => JSON.stringify(each)).join(", or ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.type === "array") return `list of ${schema.items ? typeOf(schema.items) : "anything"}`;
  if (schema.type === "object" && typeof schema.additionalProperties === "object") {
    return `object of ${typeOf(schema.additionalProperties)}`;
  }
  return schema.type ?? "anything";
}

/** Every name of a schema that `schema` refers to, itself or in its parts. @param {Schema} schema @returns {string[]} */
export function refsOf(schema) {
  if (schema.$ref) return [nameOf(schema.$ref)];
  const parts = [...(schema.anyOf ?? schema.oneOf ?? []), schema.items, schema.additionalProperties];
  return [...new Set(parts.filter((part) => typeof part === "object").flatMap(refsOf))];
}

/** Limits, default and description, as sentences. @param {Schema} schema @param {string} [description] */
export function aboutOf(schema, description = schema.description) {
  const within = (schema.anyOf ?? schema.oneOf ?? []).find((/** @type {Schema} */ each) => each.type !== "null") ?? schema;
  const ranges = RANGES.map(([low, high, unit]) => rangeOf(within[low], within[high], unit));
  const pattern = within.pattern && `Matches ${within.pattern}`;
  const usual = "default" in schema && `Default: ${JSON.stringify(schema.default)}.`;
  return [description, ...ranges, pattern, usual].filter(Boolean).join(" ");
}

/** @param {number | undefined} low @param {number | undefined} high @param {string} unit */
function rangeOf(low, high, unit) {
  if (low === undefined) return high === undefined ? "" : `At most ${high}${unit}.`;
  return high === undefined ? `${low}${unit} or more.` : `${low} to ${high}${unit}.`;
}

/** The fields of an object's schema. @param {Schema} schema @returns {Field[]} */
export function fieldsOf(schema) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, each]) => ({
    name,
    type: `${typeOf(each)}${required.has(name) ? "" : " (optional)"}`,
    about: aboutOf(each),
    refs: refsOf(each),
  }));
}

/** Every operation of an OpenAPI document, in its order. @param {Schema} document @returns {Operation[]} */
export function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => method in methods).map((method) => operationOf(method, path, methods[method])),
  );
}

/** @param {string} method @param {string} path @param {Schema} operation @returns {Operation} */
function operationOf(method, path, operation) {
  return {
    method: method.toUpperCase(),
    path,
    summary: operation.summary ?? "",
    about: operation.description ?? "",
    tag: operation.tags?.[0] ?? "other",
    parameters: (operation.parameters ?? []).map((/** @type {Schema} */ each) => ({
      name: each.name,
      type: `${typeOf(each.schema)} in the ${each.in}${each.required ? "" : " (optional)"}`,
      about: aboutOf(each.schema, each.description),
      refs: refsOf(each.schema),
    })),
    body: schemaOf(operation.requestBody),
    answers: Object.entries(operation.responses).map(([status, answer]) => ({
      status,
      about: answer.description ?? "",
      schema: schemaOf(answer),
    })),
  };
}

/** The schema of a body, or null where nothing is said of it. @param {Schema | undefined} body @returns {Schema | null} */
function schemaOf(body) {
  const [content] = Object.values(body?.content ?? {});
  const schema = content?.schema;
  return schema && Object.keys(schema).length ? schema : null;
}
