import { roles, type Scope } from '@millrace/contract/scopes';
import { ApiError, type Output, type Millrace } from '@millrace/sdk';
import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from 'react';
import { authCall } from './auth.ts';
import { clientFor, anonymousClient, type OrgContext } from './client.ts';
import { removeStoredAccount, restoreAccount, storeResult, wasSignedIn } from './stored-account.ts';

export type Me = Output<'getMe'>;
export type Membership = Output<'listMyOrganisations'>['items'][number];
export type Installation = Output<'getInstallation'>;

/** The user of this browser, with the organisations they belong to. */
export type Person =
  | { readonly state: 'unknown' }
  | { readonly state: 'out' }
  | { readonly state: 'in'; readonly memberships: readonly Membership[] };

const personKey = ['person', 'organisations'] as const;

async function loadPerson(): Promise<Person> {
  // This call returns null when signed out; an API operation would fail with 401. A browser that was signed in skips it.
  if (!wasSignedIn() && (await authCall('GET', '/get-session')) === null) return { state: 'out' };
  try {
    const memberships = await anonymousClient.me.listOrganisations().all();
    return { state: 'in', memberships };
  } catch (failure) {
    if (failure instanceof ApiError && failure.status === 401) return { state: 'out' };
    throw failure;
  }
}

const personQuery = {
  queryKey: personKey,
  queryFn: async (): Promise<Person> => {
    const person = await loadPerson();
    if (person.state === 'in') storeResult('person', personKey, person);
    else removeStoredAccount();
    return person;
  },
  staleTime: 60_000,
};

/** The user's role and scopes in one organisation and mode. */
export const meQuery = (place: OrgContext | null) => {
  const queryKey = [place?.organisationId, place?.mode, 'me'];
  return {
    queryKey,
    queryFn: async (): Promise<Me> => {
      if (place === null) throw new Error('No organisation is selected.');
      const me = await clientFor(place).me.get();
      storeResult('me', queryKey, me);
      return me;
    },
    enabled: place !== null,
    staleTime: 30_000,
  };
};

const installationKey = ['installation'] as const;
const installationQuery = {
  queryKey: installationKey,
  queryFn: async (): Promise<Installation> => {
    const installation = await anonymousClient.installation.get();
    storeResult('installation', installationKey, installation);
    return installation;
  },
};

/** Restores the account that was read last and starts to read it again, before the code of the page has arrived. */
export function startSession(cache: QueryClient): void {
  restoreAccount(cache);
  void cache.prefetchQuery(personQuery);
  void cache.prefetchQuery(installationQuery);
}

/** Loaded once per page load, and again after every sign-in and sign-out. */
export function usePerson(): {
  readonly person: Person;
  readonly error: Error | null;
  readonly again: () => Promise<unknown>;
} {
  const cache = useQueryClient();
  const { data, error } = useQuery(personQuery);
  // Stable, because effects depend on it.
  const again = useCallback(() => cache.resetQueries(), [cache]);
  return { person: data ?? { state: 'unknown' }, error, again };
}

export function useInstallation() {
  return useQuery({ ...installationQuery, staleTime: Number.POSITIVE_INFINITY });
}

export interface Session {
  readonly client: Millrace;
  readonly place: OrgContext;
  readonly me: Me;
  readonly memberships: readonly Membership[];
  /** Whether the user's role has the scope in this organisation and mode. */
  readonly may: (scope: Scope) => boolean;
  /** Why the user does not have the scope, for a disabled control; false if they have it. */
  readonly mayNot: (scope: Scope) => string | false;
  readonly go: (place: Partial<OrgContext>) => void;
}

const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = use(SessionContext);
  if (session === null) throw new Error('useSession was called outside of a signed-in page.');
  return session;
}

/** For public pages: null when signed out. */
export function useSessionIfAny(): Session | null {
  return use(SessionContext);
}

const storageKey = 'millrace.place';

function readStoredOrgContext(): Partial<OrgContext> {
  const text = sessionStorage.getItem(storageKey) ?? localStorage.getItem(storageKey);
  if (text === null) return {};
  try {
    return JSON.parse(text) as Partial<OrgContext>;
  } catch {
    return {};
  }
}

/** A tab keeps its organisation across reloads; a new tab starts with the one used last. */
function storeOrgContext(place: OrgContext): void {
  const text = JSON.stringify(place);
  sessionStorage.setItem(storageKey, text);
  localStorage.setItem(storageKey, text);
}

/** The organisation and mode to show: those asked for if the user belongs to the organisation. Null while that is not known. */
function chooseOrgContext(person: Person | undefined, request: Partial<OrgContext>): OrgContext | null {
  const memberships = person?.state === 'in' ? person.memberships : [];
  const chosen =
    memberships.find(({ organisation }) => organisation.id === request.organisationId) ?? memberships[0];
  if (chosen === undefined) return null;
  return { organisationId: chosen.organisation.id, mode: request.mode === 'test' ? 'test' : 'live' };
}

/** The session before React renders it: of the account that `startSession` restored, or that was read since. */
export function restoredSession(cache: QueryClient): Pick<Session, 'client' | 'place' | 'may'> | null {
  const place = chooseOrgContext(cache.getQueryData<Person>(personKey), readStoredOrgContext());
  if (place === null) return null;
  const me = cache.getQueryData<Me>(meQuery(place).queryKey);
  return me === undefined ? null : { client: clientFor(place), place, may: permissionsOf(me) };
}

function permissionsOf({ scopes }: Me): Session['may'] {
  const granted = new Set<string>(scopes);
  return (scope) => granted.has(scope);
}

/** The organisation and mode of this tab; null while the memberships are not known. */
export function useOrgContext(
  person: Person,
): readonly [OrgContext | null, (next: Partial<OrgContext>) => void] {
  const [request, setRequest] = useState(readStoredOrgContext);
  const { organisationId, mode } = chooseOrgContext(person, request) ?? {
    organisationId: null,
    mode: 'live',
  };
  const place = useMemo(
    () => (organisationId === null ? null : { organisationId, mode }),
    [organisationId, mode],
  );
  useEffect(() => {
    if (place !== null) storeOrgContext(place);
  }, [place]);
  // Stable, because a new session object would reopen the event feed.
  const go = useCallback(
    (next: Partial<OrgContext>): void => {
      if (place === null) return;
      const then = { ...place, ...next };
      storeOrgContext(then);
      setRequest(then);
    },
    [place],
  );
  return [place, go];
}

/** Test mode cannot change members, money or organisations, so a missing scope has two possible causes. */
function scopeReason(me: Me, { mode }: OrgContext, scope: Scope): string {
  if (mode === 'test' && roles[me.role].includes(scope)) {
    return 'You cannot change this in test mode. Switch to live mode in the organisation menu.';
  }
  return `Your role in ${me.organisation.name} is ${me.role}, which lacks the permission ${scope}. Ask an owner or admin.`;
}

interface SessionProviderProps {
  readonly place: OrgContext;
  readonly me: Me;
  readonly memberships: readonly Membership[];
  readonly go: (place: Partial<OrgContext>) => void;
  readonly children: ReactNode;
}

export function SessionProvider({ place, me, memberships, go, children }: SessionProviderProps) {
  const session = useMemo((): Session => {
    const may = permissionsOf(me);
    return {
      client: clientFor(place),
      place,
      me,
      memberships,
      may,
      mayNot: (scope) => !may(scope) && scopeReason(me, place, scope),
      go,
    };
  }, [place, me, memberships, go]);
  return <SessionContext value={session}>{children}</SessionContext>;
}
