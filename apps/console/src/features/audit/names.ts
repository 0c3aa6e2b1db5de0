import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';

/** Names of users and API keys by id. Ids of those that left or that the caller cannot see have no name. */
export interface Names {
  readonly users: ReadonlyMap<string, string>;
  readonly keys: ReadonlyMap<string, string>;
}

const PAGE_SIZE = 200;

export function useNames(): Names {
  const { me, may } = useSession();
  const organisationId = me.organisation.id;
  const members = useApiQuery(
    ['team', 'names'],
    async (client, signal) => {
      const { items } = await client.members.list({ organisationId, limit: PAGE_SIZE }, { signal });
      return new Map(items.map(({ userId, name, email }) => [userId, name ?? email]));
    },
    { enabled: may('members:read') },
  );
  const keys = useApiQuery(
    ['keys', 'names'],
    async (client, signal) => {
      const { items } = await client.keys.list({ limit: PAGE_SIZE }, { signal });
      return new Map(items.map(({ id, name }) => [id, name]));
    },
    { enabled: may('api-keys:read') },
  );
  return { users: members.data ?? new Map(), keys: keys.data ?? new Map() };
}
