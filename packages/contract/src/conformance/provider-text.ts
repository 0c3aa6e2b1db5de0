import { backticked, parseFields } from './grammar.ts';
import type { Vocabulary } from './grammar.ts';
import { sentence, tableOf } from './markdown.ts';
import type { Section } from './markdown.ts';
import type { Field, Shape } from './shape.ts';

/** Parses the section on provider data: common fields, CPU counts, and a table of extra fields. */

/** Parses "variants V1 to V8 in a fixed order, and two further variants have the ids …". */
function variantNames(section: Section): string[] {
  const stated = sentence(
    section,
    /variants V(\d) to V(\d) in a fixed order, and two further variants have the ids `(.*?)` and `(.*?)`\)/,
  );
  const [first, last] = [Number(stated[1]), Number(stated[2])];
  const numbered = Array.from({ length: last - first + 1 }, (_, index) => `V${first + index}`);
  return [...numbered, stated[3] ?? '', stated[4] ?? ''];
}

/** The provider id of a variant in the default configuration. */
function providerIdOf(variant: string): string {
  return variant.startsWith('V') ? `provider-${variant.toLowerCase()}` : variant;
}

function namesIn(text: string): string[] {
  return [...(text.match(/V\d/g) ?? []), ...backticked(text)];
}

/** The CPU count fields of each variant, from the sentence on `resources`. */
function cpuCounts(section: Section): (variant: string) => readonly string[] {
  const text = sentence(section, /plus a CPU count that is (`\w+` \(number\) in .*)$/)[1] ?? '';
  const clauses = text.split('; ').map((clause) => {
    const [counts = '', where = ''] = clause.split(/ in (?=V)/);
    return { counts: backticked(counts), variants: namesIn(where) };
  });
  return (variant) => {
    const matching = clauses.filter((clause) => clause.variants.includes(variant));
    if (matching.length !== 1) throw new Error(`The text has ${matching.length} CPU counts for ${variant}.`);
    return matching[0]?.counts ?? [];
  };
}

function resourcesShape(common: readonly Field[], counts: readonly string[]): Shape {
  const shapes = counts.map((name): Shape => {
    return { kind: 'object', fields: [...common, { name, shape: { kind: 'number' }, required: true }] };
  });
  const [first] = shapes;
  if (first === undefined) throw new Error('A variant has no CPU count.');
  return shapes.length === 1
    ? first
    : { kind: 'oneOf', branches: new Map(shapes.map((s, index) => [String(index), s])) };
}

/** Parses "privateIp string (required, with role)", which describes two fields of the same item. */
function withStatedPairs(text: string, fields: readonly Field[]): Field[] {
  const pair = /(\w+) string \(required, with (\w+)\)/.exec(text);
  if (pair === null) return [...fields];
  return fields.map((field) => {
    const inner = field.shape.items?.fields;
    if (inner?.some(({ name }) => name === pair[1]) !== true) return field;
    const items = inner.map((item) => ({
      ...item,
      required: item.name === pair[1] || item.name === pair[2],
    }));
    return { ...field, shape: { ...field.shape, items: { kind: 'object', fields: items } } };
  });
}

export function providerDataShape(section: Section, vocabulary: Vocabulary): Shape {
  const prose = sentence(
    section,
    /Common optional fields of every variant: (.*?)\. Required in every variant: (\w+) and (\w+) \(and (\w+) in (V\d)\)\.$/,
  );
  const common = parseFields(prose[1] ?? '', vocabulary, { required: false });
  const resources = parseFields(
    sentence(section, /^resources object fields \(all required\): (.*?), plus/)[1] ?? '',
    vocabulary,
    { required: true },
  );
  const selector = prose[2] ?? '';
  const extras = tableOf(section).rows;
  const countsOf = cpuCounts(section);
  const branches = new Map<string, Shape>();
  for (const variant of variantNames(section)) {
    const id = providerIdOf(variant);
    const own = extras.filter((row) => namesIn(row[0] ?? '').includes(variant)).map((row) => row[1] ?? '');
    const extra = own.flatMap((text) =>
      withStatedPairs(text, parseFields(text, vocabulary, { required: false })),
    );
    const fields: Field[] = [
      { name: selector, shape: { kind: 'enum', values: [id] }, required: true },
      { name: prose[3] ?? '', shape: resourcesShape(resources, countsOf(variant)), required: true },
      ...common.map((field) =>
        field.name === prose[4] && variant === prose[5] ? { ...field, required: true } : field,
      ),
      ...extra,
    ];
    branches.set(`${selector}=${id}`, { kind: 'object', fields });
  }
  return { kind: 'oneOf', branches };
}
