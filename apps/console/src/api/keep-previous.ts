/** Keeps the shown data while the next page loads, but never shows data of another organisation or mode. */
export function keepPreviousFor(place: { readonly organisationId: string; readonly mode: string }) {
  return <Data>(
    previous: Data | undefined,
    query: { readonly queryKey: readonly unknown[] } | undefined,
  ): Data | undefined =>
    query?.queryKey[0] === place.organisationId && query.queryKey[1] === place.mode ? previous : undefined;
}
