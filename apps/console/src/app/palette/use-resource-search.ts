import { useQueries } from '@tanstack/react-query';
import { useSessionIfAny, type Session } from '../../api/session.tsx';
import { useDebounced } from '../../ui/logic/use-debounced.ts';
import type { PaletteItem } from './palette-items.ts';
import { lookupsFor, resourceSources, type ResourceSource } from './resource-search.ts';

const TYPING_PAUSE_MS = 200;
const MIN_LENGTH = 2;
/** A list is read once in this time, however much the user types. */
const LIST_FRESH_MS = 30_000;

interface ResourceSearch {
  readonly items: readonly PaletteItem[];
  readonly isSearching: boolean;
  /** Groups that could not be read. */
  readonly failed: readonly string[];
}

/**
 * Searches resources that the caller may read: one list request per kind, and per typed text at most two lookups. Closing the
 * palette or typing further cancels them.
 */
export function useResourceSearch(typed: string): ResourceSearch {
  const session = useSessionIfAny();
  const text = useDebounced(typed.trim(), TYPING_PAUSE_MS);
  const isWanted = session !== null && (text.length >= MIN_LENGTH || /^\d+$/.test(text));
  const read = (source: ResourceSource, key: readonly unknown[], { client, place }: Session) => ({
    queryKey: [place.organisationId, place.mode, source.resource, 'palette', source.group, ...key],
    queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
      source.read({ client, organisationId: place.organisationId, signal }),
    staleTime: LIST_FRESH_MS,
  });
  const mayRead = ({ needs }: ResourceSource): boolean => session?.may(needs) === true;
  const sources = isWanted ? resourceSources.filter(mayRead) : [];
  const lookups = isWanted ? lookupsFor(text).filter(mayRead) : [];
  const groups = [...sources, ...lookups].map(({ group }) => group);
  return useQueries({
    queries:
      session === null
        ? []
        : [
            ...sources.map((source) => read(source, ['list'], session)),
            ...lookups.map((lookup) => read(lookup, ['lookup', text], session)),
          ],
    combine: (results): ResourceSearch => ({
      // A lookup may find what the list contains.
      items: [...new Map(results.flatMap(({ data }) => data ?? []).map((item) => [item.id, item])).values()],
      isSearching: typed.trim() !== text || results.some(({ isPending }) => isPending),
      failed: [...new Set(groups.filter((_, index) => results[index]?.isError === true))],
    }),
  });
}
