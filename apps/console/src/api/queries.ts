import type { Millrace } from '@millrace/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSession } from './session.tsx';
import { keepPreviousFor } from './keep-previous.ts';

/** Nouns of the interface; the feed of events says which of them has changed. */
export type ResourceName =
  | 'me'
  | 'catalog'
  | 'rentals'
  | 'volumes'
  | 'marketplace'
  | 'instances'
  | 'machines'
  | 'models'
  | 'usage'
  | 'money'
  | 'keys'
  | 'ssh-keys'
  | 'webhooks'
  | 'team'
  | 'audit'
  | 'admin'
  | 'supplier';

export interface ApiQueryOptions<Data> {
  /** How often to look again: a number, or a function of what is known, so that what is settled is left alone. */
  readonly refetchMs?: number | false | ((data: Data | undefined) => number | false);
  readonly enabled?: boolean;
  /** Keep what was shown while the next page or filter loads. */
  readonly keepPrevious?: boolean;
}

/** Reads something of the organisation that this tab acts for. The key begins with its noun. */
export function useApiQuery<Data>(
  key: readonly [ResourceName, ...unknown[]],
  read: (client: Millrace, signal: AbortSignal) => Promise<Data>,
  options: ApiQueryOptions<Data> = {},
) {
  const { client, place } = useSession();
  const { refetchMs } = options;
  return useQuery<Data>({
    queryKey: [place.organisationId, place.mode, ...key],
    queryFn: ({ signal }) => read(client, signal),
    enabled: options.enabled ?? true,
    ...(refetchMs === undefined
      ? {}
      : {
          refetchInterval:
            typeof refetchMs === 'function' ? (query) => refetchMs(query.state.data) : refetchMs,
        }),
    ...(options.keepPrevious === true && { placeholderData: keepPreviousFor(place) }),
  });
}

/** Changes something. What was read of the named nouns is read again afterwards. */
export function useApiMutation<Input, Output>(
  run: (client: Millrace, input: Input) => Promise<Output>,
  options: {
    readonly changes: readonly ResourceName[];
    readonly onSuccess?: (response: Output, input: Input) => void;
  },
) {
  const { client, place } = useSession();
  const cache = useQueryClient();
  return useMutation<Output, Error, Input>({
    mutationFn: (input) => run(client, input),
    onSuccess: (response, input) => {
      for (const noun of options.changes) {
        void cache.invalidateQueries({ queryKey: [place.organisationId, place.mode, noun] });
      }
      options.onSuccess?.(response, input);
    },
  });
}
