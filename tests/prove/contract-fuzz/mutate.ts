import fc from 'fast-check';

/** Values that often break parsers: wrong types, limits of number types, control characters, lookalike characters. */
const malformedValues: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  -0,
  2 ** 31,
  -(2 ** 31) - 1,
  Number.MAX_SAFE_INTEGER + 1,
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '٣',
  '../../etc/passwd',
  "'; drop table users; --",
  '${7*7}',
  'x'.repeat(10_000),
  [],
  [[]],
  [null],
  {},
  { toString: 'not a function' },
  { constructor: { prototype: { polluted: true } } },
];

const malformedValue = fc.constantFrom(...malformedValues);

/** Makes one change: replaces, drops or adds a field, or pushes a number or text over its limit. */
export function mutationsOf(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(value, fc.nat(), fc.constantFrom('replace', 'drop', 'add', 'nudge', 'whole'), malformedValue)
    .map(([original, at, how, what]) => mutate(structuredClone(original), at, how, what));
}

type MutationKind = 'replace' | 'drop' | 'add' | 'nudge' | 'whole';

function mutate(root: unknown, at: number, how: MutationKind, what: unknown): unknown {
  const places = positionsIn(root);
  const place = places[at % Math.max(1, places.length)];
  if (how === 'whole' || place === undefined) return what;
  const { holder, key } = place;
  if (how === 'drop') Reflect.deleteProperty(holder, key);
  else if (how === 'add') Reflect.set(holder, `unknown_${String(at % 100)}`, what);
  else Reflect.set(holder, key, how === 'nudge' ? nudge(Reflect.get(holder, key)) : what);
  return root;
}

function nudge(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string') return value + value;
  if (typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return [...(value as unknown[]), ...(value as unknown[]), 'one more'];
  return value === null ? undefined : null;
}

interface ValuePosition {
  readonly holder: object;
  readonly key: string;
}

function positionsIn(value: unknown): ValuePosition[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [{ holder: value, key }, ...positionsIn(child)]);
}
