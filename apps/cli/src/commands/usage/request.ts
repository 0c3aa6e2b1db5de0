import type { Output } from '../../sdk.ts';
import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { usdText } from '@millrace/sdk/text';
import { withLive } from '../../money/mode.ts';
import { timestampText } from '../../text/timestamps.ts';

type RequestUsage = Output<'getRequestUsage'>;

export const command = defineCommand({
  name: 'usage request',
  summary: 'Show the usage and cost of one inference request',
  positionals: [{ name: 'requestId', describe: 'the id that came with the response, req_…' }],
  examples: {
    'millrace usage request req_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'Tokens, times and cost',
    'millrace usage request req_01JD8Q7XK4T2M9V6B3N5C1F0GH --json': 'With each engine that was tried',
  },
  operations: ['getRequestUsage'],
  json: 'record',
  failure: 'Could not read the usage of the request',
  run: async (context, { args: { requestId } }) =>
    printRecord(context, await context.client().usage.getRequest({ requestId }), columns),
});

const ms = (value: number | null): string => (value === null ? '' : `${value} ms`);

const columns = [
  { name: 'request', value: (usage: RequestUsage) => usage.id },
  { name: 'model', value: (usage: RequestUsage) => usage.model },
  { name: 'began', value: (usage: RequestUsage) => timestampText(usage.created_at) },
  {
    name: 'cost',
    value: (usage: RequestUsage) => withLive(usdText(BigInt(usage.cost_nano_usd)), usage.live_cost_nano_usd),
  },
  { name: 'tokens in', value: (usage: RequestUsage) => usage.tokens_prompt },
  { name: 'cached', value: (usage: RequestUsage) => usage.tokens_cached },
  { name: 'tokens out', value: (usage: RequestUsage) => usage.tokens_completion },
  { name: 'first token', value: (usage: RequestUsage) => ms(usage.ttft_ms) },
  { name: 'took', value: (usage: RequestUsage) => ms(usage.latency_ms) },
  {
    name: 'ended',
    value: ({ cancelled, finish_reason }: RequestUsage) =>
      cancelled ? 'closed by the client' : finish_reason,
  },
  { name: 'attempts', value: ({ attempts }: RequestUsage) => attempts.length },
] as const;
