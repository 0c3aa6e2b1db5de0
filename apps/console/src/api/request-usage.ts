import type { Output } from '@millrace/sdk';
import { waitForLedgerUsage } from '@millrace/sdk/text';
import { sleep } from './clock.ts';
import { useApiQuery } from './queries.ts';

export type RequestUsage = Output<'getRequestUsage'>;

/** Usage of one inference request. It is recorded about a second after the end of the response. */
export function useRequestUsage(requestId: string, options: { readonly enabled?: boolean } = {}) {
  return useApiQuery<RequestUsage>(
    ['usage', 'request', requestId],
    async (client, signal) => {
      const usage = await waitForLedgerUsage(client, requestId, { clock: { sleep }, signal });
      return usage ?? client.usage.getRequest({ requestId }, { signal });
    },
    options,
  );
}
