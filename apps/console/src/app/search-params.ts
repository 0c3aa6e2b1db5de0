/** Parses URL search parameters and ignores unknown values. */

/** A string parameter; undefined if empty. */
export function textParam(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A parameter with fixed values; undefined for any other value. */
export function enumParam<const Word extends string>(
  value: unknown,
  words: readonly Word[],
): Word | undefined {
  return words.find((word) => word === value);
}

/** Drops undefined fields, so that the URL names only what was chosen. */
export function withoutUndefined<Search extends object>(search: Search): Partial<Search> {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Search>;
}

/** Same, for a type whose optional fields must be absent instead of undefined. */
export function definedParams<Search extends object>(
  search: Search,
): { [Name in keyof Search]?: Exclude<Search[Name], undefined> } {
  return withoutUndefined(search) as { [Name in keyof Search]?: Exclude<Search[Name], undefined> };
}
