/** Reading search parameters: what a page does not know, it does not take from the URL. */

/** A text of the URL; absent where it is empty. */
export function textParam(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** One of the words that a parameter may be; absent where it is another. */
export function enumParam<const Word extends string>(
  value: unknown,
  words: readonly Word[],
): Word | undefined {
  return words.find((word) => word === value);
}

/** The object without what is absent, so that the URL names only what was chosen. */
export function withoutUndefined<Search extends object>(search: Search): Partial<Search> {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Search>;
}

/** The same for a search whose type says that what is not chosen is not there at all. */
export function definedParams<Search extends object>(
  search: Search,
): { [Name in keyof Search]?: Exclude<Search[Name], undefined> } {
  return withoutUndefined(search) as { [Name in keyof Search]?: Exclude<Search[Name], undefined> };
}
