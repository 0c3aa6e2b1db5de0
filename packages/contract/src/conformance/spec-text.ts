import { backticked, limitsOf, literal, parseFields, parseType } from './grammar.ts';
import type { Vocabulary } from './grammar.ts';
import { parseSections, sectionNamed, sentence, tableOf } from './markdown.ts';
import type { Section, Table } from './markdown.ts';
import { chunkShape, expandUsage, withRoles } from './chat-text.ts';
import { providerDataShape } from './provider-text.ts';
import type { Field, Shape } from './shape.ts';

/** Parses everything in docs/interface.md that a contract can be compared with. */

export interface TextOperation {
  readonly methods: readonly string[];
  readonly path: string;
  /** Undefined if the text lists no error statuses. */
  readonly errors: readonly number[] | undefined;
  readonly bearer: boolean;
  readonly status: number | undefined;
}

export interface SpecText {
  readonly sections: readonly Section[];
  /** Regions in the order of the text, and the sets of regions. */
  readonly regionSets: ReadonlyMap<string, readonly string[]>;
  /** Records by name; requests and responses by `METHOD /path request`. */
  readonly subjects: ReadonlyMap<string, Shape>;
  readonly operations: readonly TextOperation[];
  readonly errorNames: ReadonlyMap<number, string>;
  /** Every error status that any operation lists. */
  readonly statuses: ReadonlySet<number>;
}

const recordNames = [
  'Provider data',
  'Term',
  'Rental meta',
  'Attached storage',
  'Rental record',
  'Active bare-metal rental record',
  'Storage volume record',
  'Marketplace machine',
] as const;

function object(fields: readonly Field[]): Shape {
  return { kind: 'object', fields };
}

function readRegionSets(sections: readonly Section[]): Map<string, readonly string[]> {
  const section = sectionNamed(sections, 'Region values');
  const full = backticked(sentence(section, /^Full set .*?: (.*)$/)[1] ?? '');
  const machine = sentence(
    section,
    /^- Virtual-machine set .*: the first (\d+) values, up to and including `(.*)`\.$/,
  );
  const virtualMachine = full.slice(0, Number(machine[1]));
  if (virtualMachine.at(-1) !== machine[2])
    throw new Error('The virtual-machine set does not end at the region that the text names.');
  const bareMetal = backticked(sentence(section, /^- Bare-metal create set: (.*)$/)[1] ?? '');
  const without = sentence(section, /^- Storage-volume record set: the full set without `(.*)`\.$/)[1] ?? '';
  if (!full.includes(without)) throw new Error(`The full set does not have the region ${without}.`);
  sentence(
    section,
    /^- Storage-volume create request: union of the virtual-machine set and the bare-metal create set\.$/,
  );
  return new Map([
    ['Region values', full],
    ['virtual-machine set', virtualMachine],
    ['bare-metal create set', bareMetal],
    ['storage-volume record set', full.filter((name) => name !== without)],
    ['storage-volume create set', [...new Set([...virtualMachine, ...bareMetal])]],
  ]);
}

function column(table: Table, ...names: readonly string[]): number {
  return table.header.findIndex((title) => names.some((name) => title.startsWith(name)));
}

function requiredBy(cell: string | undefined): boolean | undefined {
  if (cell === undefined) return undefined;
  if (/^(?:yes|required)\b/.test(cell)) return true;
  return /^(?:no|optional)\b/.test(cell) ? false : undefined;
}

/** Adds the last column of a table to the type: limits, or a value that is the default. */
function constrain(shape: Shape, cell: string): Shape {
  const fallback = /^(?:`([^`]+)`|(\d+|true|false))$/.exec(cell) ?? /default (\d+(?:\.\d+)?)/.exec(cell);
  const value = fallback === null ? {} : { default: literal(fallback[1] ?? fallback[2] ?? '') };
  if (shape.kind === 'array') {
    const max = /max (\d+) items/.exec(cell);
    return { ...shape, ...value, ...(max === null ? {} : { maxItems: Number(max[1]) }) };
  }
  if (shape.kind === 'map' && shape.items !== undefined) {
    return { ...shape, items: { ...shape.items, ...limitsOf(shape.items.kind, cell) } };
  }
  if (shape.kind === 'enum' || shape.kind === 'boolean') return { ...shape, ...value };
  const limits = limitsOf(shape.kind, cell);
  const stated = { ...shape, ...limits, ...value };
  // An integer without limits in this column keeps the limits of its type.
  const unlimited = shape.kind === 'integer' && limits.max === Number.MAX_SAFE_INTEGER;
  return unlimited ? { ...stated, ...boundsOf(shape) } : stated;
}

/** Checks that "-1 considers all", "0 disables" or "-100/100 ban or force" name the bounds of the range. */
function withCheckedBounds(cell: string, shape: Shape): Shape {
  const lowest = /(-?\d+) (?:considers all|disables)/.exec(cell)?.[1];
  const forcing = /(-?\d+)\/(\d+) ban or force/.exec(cell);
  const inner = shape.items;
  if (forcing !== null && (Number(forcing[1]) !== inner?.min || Number(forcing[2]) !== inner.max)) {
    throw new Error(`"${cell}" names values that are not the bounds of its range.`);
  }
  if (lowest === undefined) return shape;
  const widest = shape.min === undefined || shape.min === -Number.MAX_SAFE_INTEGER;
  if (!widest && shape.min !== Number(lowest))
    throw new Error(`"${cell}" disables at a value outside its range.`);
  return { ...shape, min: Number(lowest) };
}

function boundsOf(shape: Shape): Partial<Shape> {
  const { min, max, above } = shape;
  return {
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(above === undefined ? {} : { above }),
  };
}

function withConstraints(shape: Shape, cell: string): Shape {
  return withCheckedBounds(cell, constrain(shape, cell));
}

function fieldsOfTable(table: Table, vocabulary: Vocabulary, unstated?: boolean): Field[] {
  const typeAt = column(table, 'Type');
  if (typeAt === -1) throw new Error(`The table headed "${table.header.join(', ')}" has no column of types.`);
  const requiredAt = column(table, 'Required', 'Notes');
  const limitsAt = column(table, 'Default', 'Constraints', 'Notes');
  return table.rows.map((row) => {
    const shape = parseType(row[typeAt] ?? '', vocabulary);
    const required = requiredAt === -1 ? unstated : (requiredBy(row[requiredAt]) ?? unstated);
    return {
      name: row[0] ?? '',
      shape: limitsAt === -1 ? shape : withConstraints(shape, row[limitsAt] ?? ''),
      required,
    };
  });
}

/** Puts rows such as `hardware.cpus[]` into nested objects and arrays. */
function nest(fields: readonly Field[]): Field[] {
  const nested = new Map<string, Field>();
  for (const field of fields) {
    const dot = field.name.indexOf('.');
    if (dot === -1) {
      const list = field.name.endsWith('[]');
      const name = list ? field.name.slice(0, -2) : field.name;
      const shape: Shape = list ? { kind: 'array', items: field.shape } : field.shape;
      nested.set(name, { ...field, name, shape });
      continue;
    }
    const name = field.name.slice(0, dot);
    const before = nested.get(name)?.shape.fields ?? [];
    const inner = nest([{ ...field, name: field.name.slice(dot + 1) }]);
    nested.set(name, { name, required: field.required, shape: object([...before, ...inner]) });
  }
  return [...nested.values()];
}

function termShape(section: Section): Shape {
  const stated = sentence(
    section,
    /^Term .*Every shape has effectiveAt \(string\), termType, costPerHour \(number\), (.*), all required:$/,
  );
  const table = section.tables[1];
  if (table === undefined) throw new Error('The active rental record has no table of terms.');
  const groups = table.header.slice(1).map((title) => title.split(', '));
  if (groups.flat().join(', ') !== stated[1])
    throw new Error('The sentence and the table of terms name different fields.');
  const branches = new Map<string, Shape>();
  for (const row of table.rows) {
    const [termType] = backticked(row[0] ?? '');
    const fields: Field[] = [
      { name: 'effectiveAt', shape: { kind: 'string' }, required: true },
      { name: 'termType', shape: { kind: 'enum', values: [termType ?? ''] }, required: true },
      { name: 'costPerHour', shape: { kind: 'number' }, required: true },
    ];
    for (const [index, names] of groups.entries()) {
      const shape = parseType(row[index + 1] ?? '', { sets: new Map(), records: [] });
      for (const name of names) fields.push({ name, shape, required: true });
    }
    branches.set(`termType=${termType}`, object(fields));
  }
  return { kind: 'oneOf', branches };
}

function recordShapes(sections: readonly Section[], vocabulary: Vocabulary): Map<string, Shape> {
  const rental = fieldsOfTable(tableOf(sectionNamed(sections, 'Rental record')), vocabulary);
  const activeSection = sectionNamed(sections, 'Active bare-metal rental record');
  const always = sentence(activeSection, /rentalType is always `(.*)` and meta is optional/)[1] ?? '';
  const added = fieldsOfTable(tableOf(activeSection), vocabulary);
  const overridden = new Map<string, Field>(rental.map((field) => [field.name, field]));
  overridden.set('rentalType', {
    name: 'rentalType',
    shape: { kind: 'enum', values: [always] },
    required: true,
  });
  for (const field of added) overridden.set(field.name, field);
  const meta = sentence(activeSection, /^Rental meta \(all optional, no other keys\): (.*)$/)[1] ?? '';
  const attached = sentence(activeSection, /^Attached storage item \(all required\): (.*)$/)[1] ?? '';
  const volume = sentence(sectionNamed(sections, 'Storage volume record'), /^All required: (.*)$/)[1] ?? '';
  const machine = tableOf(sectionNamed(sections, 'Marketplace machine'));
  return new Map<string, Shape>([
    ['Rental record', object(rental)],
    ['Active bare-metal rental record', object([...overridden.values()])],
    ['Rental meta', object(parseFields(meta, vocabulary, { required: false }))],
    ['Attached storage', object(parseFields(attached, vocabulary, { required: true }))],
    ['Term', termShape(activeSection)],
    ['Provider data', providerDataShape(sectionNamed(sections, 'Provider data'), vocabulary)],
    ['Storage volume record', object(parseFields(volume, vocabulary, { required: true }))],
    ['Marketplace machine', object(nest(fieldsOfTable(machine, vocabulary, true)))],
  ]);
}

const requestTitles = ['Request field', 'Parameter'];

/** Parses the request and the response of one endpoint section, where the section states them. */
function endpointShapes(section: Section, name: string, vocabulary: Vocabulary): [string, Shape][] {
  const shapes: [string, Shape][] = [];
  const add = (side: string, shape: Shape): void => void shapes.push([`${name} ${side}`, shape]);
  const list = (text: string, required: boolean | undefined, bare = false): Shape =>
    object(parseFields(text, vocabulary, { required, bare }));
  for (const table of section.tables) {
    if (requestTitles.includes(table.header[0] ?? '')) {
      add('request', object(withRoles(table, fieldsOfTable(table, vocabulary))));
    }
    for (const row of table.header[0] === 'Direction' ? table.rows : []) {
      if (row[0] === 'Request' || row[0] === 'Request (required)')
        add('request', list(row[1] ?? '', undefined));
      if (row[0]?.startsWith('Response'))
        add('response', list((row[1] ?? '').replace('; no other keys', ''), true));
    }
  }
  for (const line of section.lines) {
    const request =
      /Request: (?!object)([^.]*)\. Response/.exec(line) ?? /^Request: object with (.*?)\. /.exec(line);
    const body = /Request body: object with (.*?)\. /.exec(line);
    const used = /^Request fields? used: (.*?)\. Response/.exec(line);
    const response = /Response(?: 200)?(?: \(all required\))?: (.*?)\.(?: (?:Errors|Other|Further).*)?$/.exec(
      line,
    );
    const chunk = chunkShape(line, vocabulary);
    if (chunk !== undefined) add('event', chunk);
    const complete = /^Non-stream response: (.*)$/.exec(line);
    const stated = request?.[1] ?? body?.[1];
    if (stated !== undefined)
      add('request', list(stated.replace(/(`?\w+`?) \(([^,)]*)(?:, [^)]*)?\)/g, '$1 $2'), undefined));
    if (used?.[1] !== undefined)
      add('request', list(used[1].replace(/(\w+) \((\w+)(?:; )?([^)]*)\)/g, '$1 $2 $3'), undefined));
    if (complete?.[1] !== undefined) add('response', list(expandUsage(complete[1]), true));
    if (response?.[1] !== undefined && !line.includes('not shown: ')) {
      const shape = responseShape(response[1], vocabulary);
      if (shape !== undefined) add('response', shape);
    }
  }
  return shapes;
}

function responseShape(text: string, vocabulary: Vocabulary): Shape | undefined {
  const [statement = ''] = text.split('; the remainder');
  const arrayOf = /^array of (.*)$/.exec(statement)?.[1];
  if (arrayOf !== undefined) return { kind: 'array', items: { kind: 'ref', ref: arrayOf } };
  if (vocabulary.records.includes(statement)) return { kind: 'ref', ref: statement };
  const carried = /^`(\w+)` array whose items carry `(\w+)`, a base64-encoded/.exec(statement);
  if (carried !== null) {
    const item: Field = { name: carried[2] ?? '', shape: { kind: 'string' }, required: true };
    const items = object([item]);
    return object([{ name: carried[1] ?? '', shape: { kind: 'array', items }, required: true }]);
  }
  const encoded = /^`(\w+)`, a base64-encoded/.exec(statement);
  if (encoded !== null)
    return object([{ name: encoded[1] ?? '', shape: { kind: 'string' }, required: true }]);
  const listed = statement.replace(/^`(\w+)` array/, '$1 array');
  const fields = parseFields(listed, vocabulary, { required: true, bare: true });
  return object(fields);
}

function readOperations(sections: readonly Section[]): { section: Section; operation: TextOperation }[] {
  const found: { section: Section; operation: TextOperation }[] = [];
  for (const section of sections) {
    const single = /^(GET|POST|PATCH|PUT|DELETE) (\/\S+)$/.exec(section.title);
    const unclear = /\(path (\/\S+)\)$/.exec(section.title);
    if (single === null && unclear === null) continue;
    const prose = section.lines.join(' ');
    const directions = section.tables.flatMap((table) => table.rows.map((row) => row[0] ?? ''));
    const status = /Response (\d+)\b/.exec([prose, ...directions].join(' '))?.[1];
    const errors = /Errors: ([\d, ]+)\./.exec(prose)?.[1]?.split(', ').map(Number);
    const both = /names the method (\w+) while the sample request uses (\w+)/.exec(prose);
    const methods = single === null ? [both?.[1] ?? '', both?.[2] ?? ''] : [single[1] ?? ''];
    const path = single?.[2] ?? unclear?.[1] ?? '';
    const bearer = !/No Bearer header required/.test(prose);
    const responses = status === undefined ? undefined : Number(status);
    found.push({ section, operation: { methods, path, errors, bearer, status: responses } });
  }
  return found;
}

export function parseSpec(text: string): SpecText {
  const sections = parseSections(text);
  const regionSets = readRegionSets(sections);
  const vocabulary: Vocabulary = { sets: regionSets, records: recordNames };
  const operations = readOperations(sections);
  const subjects = recordShapes(sections, vocabulary);
  for (const { section, operation } of operations) {
    for (const method of operation.methods) {
      for (const [name, shape] of endpointShapes(section, `${method} ${operation.path}`, vocabulary)) {
        subjects.set(name, shape);
      }
    }
  }
  const errors = sectionNamed(sections, 'Errors');
  return {
    sections,
    regionSets,
    subjects,
    operations: operations.map(({ operation }) => operation),
    errorNames: new Map(tableOf(errors).rows.map((row) => [Number(row[0]), row[2] ?? ''])),
    statuses: new Set(operations.flatMap(({ operation }) => operation.errors ?? [])),
  };
}
