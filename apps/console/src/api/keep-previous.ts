/**
 * What was shown stays while the next page loads, but only where it was: prices and names of another organisation or mode are
 * never shown as this one's.
 */
export function keepPreviousFor(place: { readonly organisationId: string; readonly mode: string }) {
  return <Data>(
    previous: Data | undefined,
    query: { readonly queryKey: readonly unknown[] } | undefined,
  ): Data | undefined =>
    query?.queryKey[0] === place.organisationId && query.queryKey[1] === place.mode ? previous : undefined;
}
