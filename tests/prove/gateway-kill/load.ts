import { inspect } from 'node:util';
import type { Random } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import type { InferenceTenant } from '../../stack/inference-tenant.ts';

/** Clients that send requests without pause and record the results. */

export interface RequestResult {
  readonly tenant: InferenceTenant;
  readonly question: Question;
  readonly streamed: boolean;
  readonly startedMs: number;
  endedMs: number;
  /** From the response header; null without a response. */
  id: string | null;
  status: number | null;
  /** The response had a Retry-After header. */
  isToComeAgain: boolean;
  hasReceivedData: boolean;
  /**
   * `whole`: a complete response. `left`: the client aborted. `refused`: a status other than 200. `errored`: the stream ended
   * with an error event. `broken`: no response, or a partial one.
   */
  outcome: 'whole' | 'left' | 'refused' | 'errored' | 'broken';
  costNanoUsd: number | null;
  why: string | null;
}

/** At temperature 0 each question has one answer, so its maximum cost is known. */
export interface Question {
  readonly model: string;
  readonly content: string;
  readonly maxTokens: number;
}

export interface LoadOptions {
  readonly gatewayUrl: string;
  readonly tenants: readonly InferenceTenant[];
  readonly clients: number;
  readonly random: Random;
  readonly short: readonly Question[];
  /** Always streamed, and longer than most faults. */
  readonly long: Question;
}

export interface Load {
  readonly results: readonly RequestResult[];
  stop(): Promise<void>;
}

const REQUEST_PAUSE_MS = 100;

export function startLoad(options: LoadOptions): Load {
  const results: RequestResult[] = [];
  let isOver = false;
  const runClient = async (nth: number): Promise<void> => {
    const random = options.random.fork(nth);
    const isLong = nth < 2;
    while (!isOver) {
      const question = isLong ? options.long : random.pick(options.short);
      const one: RequestResult = {
        tenant: random.pick(options.tenants),
        question,
        streamed: isLong || random.int(0, 1) === 0,
        startedMs: systemClock.monotonicMs(),
        endedMs: 0,
        id: null,
        status: null,
        isToComeAgain: false,
        hasReceivedData: false,
        outcome: 'broken',
        costNanoUsd: null,
        why: null,
      };
      results.push(one);
      const leaveAfter = one.streamed && random.int(0, 7) === 0 ? random.int(1, 12) : null;
      await send(options.gatewayUrl, one, leaveAfter);
      one.endedMs = systemClock.monotonicMs();
      await systemClock.sleep(one.outcome === 'whole' ? random.int(0, 20) : REQUEST_PAUSE_MS);
    }
  };
  const clients = Array.from({ length: options.clients }, (_, nth) => runClient(nth));
  return {
    results,
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

async function send(url: string, one: RequestResult, leaveAfter: number | null): Promise<void> {
  const { model, content, maxTokens } = one.question;
  const leaving = new AbortController();
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${one.tenant.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content }],
        temperature: 0,
        max_tokens: maxTokens,
        stream: one.streamed,
      }),
      signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(60_000)]),
    });
    one.id = response.headers.get('x-inference-request-id');
    one.status = response.status;
    one.isToComeAgain = response.headers.has('retry-after');
    if (response.status !== 200) {
      one.outcome = 'refused';
      one.why = (await response.text()).slice(0, 300);
    } else if (one.streamed) await readStream(response, one, leaveAfter, leaving);
    else readWhole(await response.text(), one);
  } catch (error) {
    if (leaving.signal.aborted) one.outcome = 'left';
    else one.why = inspect(error, { depth: 3, breakLength: Infinity }).slice(0, 600);
  }
}

interface Usage {
  readonly usage?: { readonly cost_nano_usd?: number } | null;
}

function readWhole(text: string, one: RequestResult): void {
  one.hasReceivedData = true;
  one.costNanoUsd = (JSON.parse(text) as Usage).usage?.cost_nano_usd ?? null;
  one.outcome = 'whole';
}

async function readStream(
  response: Response,
  one: RequestResult,
  leaveAfter: number | null,
  leaving: AbortController,
): Promise<void> {
  if (response.body === null) return;
  let rest = '';
  let events = 0;
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const part of blocks) {
      one.hasReceivedData = true;
      events += 1;
      readEvent(part.slice('data: '.length), one);
    }
    if (leaveAfter !== null && events >= leaveAfter && one.outcome === 'broken') {
      leaving.abort();
      one.outcome = 'left';
      return;
    }
  }
}

function readEvent(data: string, one: RequestResult): void {
  if (data === '[DONE]') {
    one.outcome = 'whole';
    return;
  }
  const event = JSON.parse(data) as Usage & { readonly error?: { readonly message?: string } };
  if (event.error !== undefined) {
    one.outcome = 'errored';
    one.why = event.error.message ?? 'an error without a message';
  }
  if (event.usage != null) one.costNanoUsd = event.usage.cost_nano_usd ?? null;
}
