import type { Millrace } from '@millrace/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { invalidate } from './invalidate.ts';
import { useSession, type Session } from './session.tsx';
import { keepPreviousFor } from './keep-previous.ts';

/** Cache key prefixes. The event feed says which of them to invalidate. */
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
  | 'overview'
  | 'admin'
  | 'supplier';

/** A read that both its hook and the route of its page start. */
export interface ApiRead<Data> {
  readonly key: readonly [ResourceName, ...unknown[]];
  readonly read: (client: Millrace, signal: AbortSignal) => Promise<Data>;
}

export function apiQuery<Data>(
  { client, place }: Pick<Session, 'client' | 'place'>,
  { key, read }: ApiRead<Data>,
) {
  return {
    queryKey: [place.organisationId, place.mode, ...key],
    queryFn: ({ signal }: { readonly signal: AbortSignal }): Promise<Data> => read(client, signal),
  };
}

export interface ApiQueryOptions<Data> {
  /** Poll interval, or a function of the data, so that settled data is not polled. */
  readonly refetchMs?: number | false | ((data: Data | undefined) => number | false);
  readonly enabled?: boolean;
  /** Keep the shown data while the next page or filter loads. */
  readonly keepPrevious?: boolean;
}

/** Reads from the API for the organisation and mode of this tab. */
export function useApiQuery<Data>(
  key: ApiRead<Data>['key'],
  read: ApiRead<Data>['read'],
  options: ApiQueryOptions<Data> = {},
) {
  const session = useSession();
  const { refetchMs } = options;
  return useQuery<Data>({
    ...apiQuery(session, { key, read }),
    enabled: options.enabled ?? true,
    ...(refetchMs === undefined
      ? {}
      : {
          refetchInterval:
            typeof refetchMs === 'function' ? (query) => refetchMs(query.state.data) : refetchMs,
        }),
    ...(options.keepPrevious === true && { placeholderData: keepPreviousFor(session.place) }),
  });
}

/** Changes something through the API, then invalidates the queries in `changes`. */
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
        void invalidate(cache, [place.organisationId, place.mode, noun]);
      }
      options.onSuccess?.(response, input);
    },
  });
}
