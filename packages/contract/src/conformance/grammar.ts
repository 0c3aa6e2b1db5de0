import type { Field, Shape } from './shape.ts';

/** Parses the type phrases of docs/interface.md: "integer > 0 (max 10)", "array of {host string, port number}". */

export interface Vocabulary {
  /** Sets that the text refers to by name: regions. */
  readonly sets: ReadonlyMap<string, readonly string[]>;
  /** Records that the text refers to by name. */
  readonly records: readonly string[];
}

const maxSafeInteger = Number.MAX_SAFE_INTEGER;

/** Splits at commas and semicolons outside braces and parentheses. */
function splitTopLevel(text: string): string[] {
  const pieces: string[] = [];
  let depth = 0;
  let current = '';
  for (const char of text) {
    if (char === '{' || char === '(') depth += 1;
    if (char === '}' || char === ')') depth -= 1;
    if (depth === 0 && (char === ',' || char === ';')) {
      pieces.push(current.trim());
      current = '';
    } else {
      current += char;
    }
  }
  pieces.push(current.trim());
  return pieces.filter((part) => part !== '');
}

const starter =
  '(?:string|number|integer|int|float|boolean|enum|array|list|object|any|unconstrained|null|of \\{|`|\\{)';
const fieldStart = new RegExp(`^\`?([A-Za-z_][A-Za-z0-9_]*)\`?(\\[\\])?:? (?=\\(?${starter})`);
const bareName = /^([A-Za-z_][A-Za-z0-9_]*)$/;

export interface FieldListOptions {
  /** Whether a field is required if the text does not say. */
  readonly required: boolean | undefined;
  /** Whether a name without a type is a field. */
  readonly bare?: boolean;
}

/** Parses `name type, name type; …`. A part that does not start a field belongs to the previous field. */
export function parseFields(text: string, vocabulary: Vocabulary, options: FieldListOptions): Field[] {
  const drafts: { name: string; list: boolean; phrase: string }[] = [];
  let everyRequired = options.required;
  const pieces = splitTopLevel(text.replace(/\.$/, ''));
  const bareAllowed = options.bare === true || pieces.every((part) => bareName.test(part));
  for (const part of pieces) {
    const start = fieldStart.exec(part);
    const bare = bareAllowed ? bareName.exec(part) : null;
    const every = /^(?:all|both) (required|optional)$/.exec(part);
    if (every !== null) everyRequired = every[1] === 'required';
    else if (start !== null) {
      drafts.push({
        name: start[1] ?? '',
        list: start[2] !== undefined,
        phrase: part.slice(start[0].length),
      });
    } else if (bare !== null) drafts.push({ name: bare[1] ?? '', list: false, phrase: '' });
    else {
      const last = drafts.at(-1);
      if (last === undefined) throw new Error(`Cannot read "${part}" as a field.`);
      last.phrase += `, ${part}`;
    }
  }
  return drafts.map(({ name, list, phrase }) => {
    const shape = parseType(list ? `array ${phrase}` : phrase, vocabulary);
    const stated = statedRequirement(phrase);
    return { name, shape, required: stated ?? everyRequired };
  });
}

/** Whether "required" or "optional" applies to the field itself, not to the fields inside it. */
function statedRequirement(phrase: string): boolean | undefined {
  const outside = outsideBraces(phrase).replace(/(?:all|both) (?:required|optional)|with optional/g, '');
  const word = /(?:^|[\s(,])(required|optional)\b/.exec(outside)?.[1];
  return word === undefined ? undefined : word === 'required';
}

function outsideBraces(text: string): string {
  let depth = 0;
  let outside = '';
  for (const char of text) {
    if (char === '{') depth += 1;
    if (depth === 0) outside += char;
    if (char === '}') depth -= 1;
  }
  return outside;
}

function insideBraces(text: string): string | undefined {
  const open = text.indexOf('{');
  return open === -1 ? undefined : text.slice(open + 1, text.lastIndexOf('}'));
}

export function backticked(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

/** Parses a default or a literal into its value. */
export function literal(text: string): unknown {
  if (text === 'true') return true;
  if (text === 'false') return false;
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

function parseArray(phrase: string, vocabulary: Vocabulary): Shape {
  const outside = outsideBraces(phrase);
  const max = /max (\d+)(?: items|\) of)/.exec(outside) ?? /^array \(max (\d+)\)/.exec(outside);
  const min = /min (\d+) items?/.exec(outside);
  const item = /\bof (.*)$/s.exec(phrase)?.[1]?.replace(/,? ?(?:max|min) \d+ items?/g, '');
  if (item === undefined) throw new Error(`"${phrase}" does not say what the array contains.`);
  return {
    kind: 'array',
    items: parseType(item.replace(/^objects: /, 'object: ').replace(/^objects /, ''), vocabulary),
    ...(max === null ? {} : { maxItems: Number(max[1]) }),
    ...(min === null ? {} : { minItems: Number(min[1]) }),
  };
}

/** Whether the fields inside an object are stated as required or optional; undefined if not stated. */
function requiredInside(phrase: string): boolean | undefined {
  const word = /(?:all|both) (required|optional)|\((required|optional)\)$|with (optional) /.exec(phrase);
  if (word === null) return undefined;
  return (word[1] ?? word[2] ?? word[3]) === 'required';
}

function parseObject(phrase: string, vocabulary: Vocabulary): Shape {
  const nullable = phrase.startsWith('object or null') ? { nullable: true } : {};
  const see = /^object(?: or null)?, see (.+)$/.exec(phrase);
  if (see !== null) return { kind: 'ref', ref: see[1] ?? '', ...nullable };
  const listed =
    insideBraces(phrase) ??
    /^object: (.*)$/s.exec(phrase)?.[1] ??
    /^object with optional (.*)$/.exec(phrase)?.[1];
  if (listed === undefined) return { kind: 'object', ...nullable };
  const required = requiredInside(phrase);
  return {
    kind: 'object',
    ...nullable,
    fields: parseFields(listed.replace(/ \((?:all |both )?(?:required|optional)\)$/, ''), vocabulary, {
      required: required ?? (/^objects? \{/.test(phrase) ? undefined : true),
    }),
  };
}

function parseEnum(phrase: string, vocabulary: Vocabulary): Shape {
  const named = [...vocabulary.sets.keys()].find((name) => phrase.includes(name));
  const fallback = /default `([^`]+)`/.exec(phrase);
  const values =
    named === undefined ? backticked(phrase.replace(/default `[^`]+`/, '')) : vocabulary.sets.get(named);
  return {
    kind: 'enum',
    values: values ?? [],
    ...(/or null/.test(phrase) ? { nullable: true } : {}),
    ...(fallback === null ? {} : { default: literal(fallback[1] ?? '') }),
  };
}

const scalarKinds: Readonly<Record<string, Shape['kind']>> = {
  string: 'string',
  strings: 'string',
  number: 'number',
  float: 'number',
  integer: 'integer',
  integers: 'integer',
  int: 'integer',
  boolean: 'boolean',
  any: 'any',
  unconstrained: 'any',
  null: 'null',
};

/** The limits in a phrase for a value of the given kind. */
export function limitsOf(kind: Shape['kind'], phrase: string): Partial<Shape> {
  const numeric = kind === 'integer' || kind === 'number';
  const range = /(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)( chars)?/.exec(phrase);
  const most = /\(max (\d+)\)|max length (\d+)/.exec(phrase);
  const least = /minimum (\d+)/.exec(phrase);
  const multiple = /multiple of (\d+)/.exec(phrase);
  const limits: { -readonly [Key in keyof Shape]?: Shape[Key] } = {};
  if (kind === 'integer') Object.assign(limits, { min: -maxSafeInteger, max: maxSafeInteger });
  if (numeric && /32-bit/.test(phrase)) Object.assign(limits, { min: -2147483648, max: 2147483647 });
  if (range !== null && range[3] === undefined && numeric) {
    Object.assign(limits, { min: Number(range[1]), max: Number(range[2]) });
  }
  if (range !== null && range[3] !== undefined && kind === 'string') {
    Object.assign(limits, { minLength: Number(range[1]), maxLength: Number(range[2]) });
  }
  if (most !== null && numeric) limits.max = Number(most[1]);
  if (most !== null && kind === 'string') limits.maxLength = Number(most[1] ?? most[2]);
  if (least !== null) limits.min = Number(least[1]);
  if (multiple !== null) limits.multipleOf = Number(multiple[1]);
  const above = /> (\d+)/.exec(phrase);
  if (numeric && above !== null) {
    limits.above = Number(above[1]);
    delete limits.min;
  }
  if (kind === 'string' && /letters, digits, underscore, hyphen/.test(phrase)) limits.pattern = 'label';
  return limits;
}

function parseScalar(phrase: string): Shape {
  const word = /^\(?([a-z]+)/.exec(phrase)?.[1] ?? '';
  const kind = scalarKinds[word];
  if (kind === undefined) throw new Error(`Cannot read the type "${phrase}".`);
  if (kind === 'any') return { kind };
  const automatic = /automatic-choice value `(\w+)` exists/.exec(phrase);
  if (automatic !== null) return { kind, default: automatic[1] };
  return { kind, ...limitsOf(kind, phrase), ...(/or null/.test(phrase) ? { nullable: true } : {}) };
}

/** Parses "one of: existing {isNew `false`, …}; new {isNew `true`, …}", discriminated by the first, literal field. */
function parseOneOf(phrase: string, vocabulary: Vocabulary): Shape {
  const branches = new Map<string, Shape>();
  for (const group of phrase.match(/\{[^}]*\}/g) ?? []) {
    const fields = parseFields(group.slice(1, -1), vocabulary, { required: true });
    const [first] = fields;
    branches.set(`${first?.name}=${first?.shape.values?.[0]}`, { kind: 'object', fields });
  }
  return { kind: 'oneOf', branches };
}

export function parseType(phrase: string, vocabulary: Vocabulary): Shape {
  if (phrase === '') return { kind: 'untyped' };
  const record = vocabulary.records.find((name) => phrase === name || phrase.startsWith(`${name} (`));
  if (record !== undefined) return { kind: 'ref', ref: record };
  if (phrase.startsWith('one of:')) return parseOneOf(phrase, vocabulary);
  if (/^(?:array|list)\b/.test(phrase)) return parseArray(phrase, vocabulary);
  if (phrase.startsWith('map string to ')) {
    return { kind: 'map', items: parseScalar(phrase.slice('map string to '.length)) };
  }
  if (/^(?:object|\{)/.test(phrase)) return parseObject(phrase, vocabulary);
  if (/^(?:enum\b|`)/.test(phrase)) return parseEnum(phrase, vocabulary);
  return parseScalar(phrase);
}
