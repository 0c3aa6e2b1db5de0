import type { Millrace, OperationEntry } from '@millrace/sdk';

export type { Output, CallableId, Input, Item, Millrace, MillraceEvent, OperationEntry } from '@millrace/sdk';

/** The caller of requests. */
export interface Account {
  readonly apiUrl: string;
  readonly inferenceUrl: string;
  readonly apiKey?: string | undefined;
  readonly session?: SessionAccount | undefined;
}

/** A signed-in user; with an organisation, as a member of it. */
export interface SessionAccount {
  readonly token: string;
  readonly organisation?: string;
  readonly mode?: 'live' | 'test';
}

export interface ClientSettings extends Account {
  readonly fetch: typeof fetch;
  readonly version: string;
}

/** The only place that loads the SDK; help does not need it. */
export async function loadClient(): Promise<(settings: ClientSettings) => Millrace> {
  const sdk = await import('@millrace/sdk');
  return ({ apiUrl, inferenceUrl, apiKey, session, fetch, version }) =>
    new sdk.Millrace({
      baseUrl: apiUrl,
      inferenceUrl,
      ...(session === undefined ? { apiKey } : sessionOptions(session)),
      fetch,
      userAgent: `millrace-cli/${version}`,
    });
}

function sessionOptions({ token, ...session }: SessionAccount) {
  return { sessionToken: token, session };
}

/** All callable operations by id. */
export async function loadOperations(): Promise<Readonly<Record<string, OperationEntry>>> {
  return (await import('@millrace/sdk')).operations;
}
