import { systemClock } from '@millrace/platform/clock';

/** Steady requests, so that rules about shares of failed requests have requests. Failures are counted, because faults cause them. */
export interface SteadyLoad {
  readonly counts: Readonly<{ succeeded: number; failed: number }>;
  /** The first failures, for the report of a baseline. */
  readonly failures: readonly string[];
  stop(): Promise<void>;
}

export interface SteadyLoadOptions {
  readonly apiUrl: string;
  readonly gatewayUrl: string;
  readonly apiKey: string;
  readonly timeoutMs: number;
  /** One client for each pair. */
  readonly chats: readonly { readonly key: string; readonly model: string }[];
}

const PAUSE_MS = 250;
const FAILURES_MAX = 10;

export function startSteadyLoad(options: SteadyLoadOptions): SteadyLoad {
  const { apiUrl, gatewayUrl, apiKey, timeoutMs, chats } = options;
  const counts = { succeeded: 0, failed: 0 };
  const failures: string[] = [];
  const stopping = new AbortController();
  const repeat = async (url: string, key: string, body: object | null = null): Promise<void> => {
    while (!stopping.signal.aborted) {
      const problem = await send({ url, key, body, timeoutMs });
      counts[problem === null ? 'succeeded' : 'failed'] += 1;
      if (problem !== null && failures.length < FAILURES_MAX) failures.push(problem);
      await systemClock.sleep(PAUSE_MS);
    }
  };
  const messages = [{ role: 'user', content: 'What does the mill grind?' }];
  const clients = [
    repeat(`${apiUrl}/v2/me`, apiKey),
    repeat(`${apiUrl}/v2/customer/balance`, apiKey),
    ...chats.map(({ key, model }) =>
      repeat(`${gatewayUrl}/v1/chat/completions`, key, { model, messages, max_tokens: 6, stream: true }),
    ),
  ];
  return {
    counts,
    failures,
    stop: async () => {
      stopping.abort();
      await Promise.all(clients);
    },
  };
}

interface SteadyRequest {
  readonly url: string;
  readonly key: string;
  readonly body: object | null;
  readonly timeoutMs: number;
}

async function send({ url, key, body, timeoutMs }: SteadyRequest): Promise<string | null> {
  try {
    const response = await fetch(url, {
      method: body === null ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === null ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    return response.ok ? null : `${url} returned ${response.status}: ${text.slice(0, 200)}`;
  } catch (error) {
    return `${url}: ${String(error)}`;
  }
}
