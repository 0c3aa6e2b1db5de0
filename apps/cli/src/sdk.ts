import type { Millrace, OperationEntry } from '@millrace/sdk';
import type { SessionAccount } from './frame/context.ts';
import type { ClientSettings } from './frame/runner.ts';

export type { Answer, CallableId, Input, Item, Millrace, MillraceEvent, OperationEntry } from '@millrace/sdk';

/** The one place where the SDK is loaded: a run that only shows help never comes here. */
export async function loadClient(): Promise<(settings: ClientSettings) => Millrace> {
  const sdk = await import('@millrace/sdk');
  return ({ apiUrl, inferenceUrl, apiKey, session, fetch, version }) =>
    new sdk.Millrace({
      baseUrl: apiUrl,
      inferenceUrl,
      ...(session === undefined ? { apiKey } : signedIn(session)),
      fetch,
      userAgent: `millrace-cli/${version}`,
    });
}

/** A session travels where a key does, and names the organisation beside it. */
function signedIn({ token, organisation, mode }: SessionAccount) {
  return {
    apiKey: token,
    headers: {
      ...(organisation === undefined ? {} : { 'millrace-organisation': organisation }),
      ...(mode === undefined ? {} : { 'millrace-mode': mode }),
    },
  };
}

/** Every operation that can be called, by its id. */
export async function loadOperations(): Promise<Readonly<Record<string, OperationEntry>>> {
  return (await import('@millrace/sdk')).operations;
}
