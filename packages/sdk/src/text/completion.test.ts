import { describe, expect, test } from 'vitest';
import { waitForLedgerUsage, readCompletion, tokensPerSecond, toCompletionUsage } from './completion.ts';

const piece = (content: string, finish: string | null = null) => ({
  id: 'req_1',
  choices: [{ delta: { content }, finish_reason: finish }],
});
const usage = { prompt_tokens: 3, completion_tokens: 2, cost_nano_usd: 70 };

/** Each look at it is a tenth of a second later. */
const ticking = (): { monotonicMs(): number } => {
  let ms = 0;
  return { monotonicMs: () => (ms += 100) };
};

async function* streamOf<Item>(items: readonly Item[], fail?: Error): AsyncGenerator<Item> {
  yield* items;
  if (fail !== undefined) throw fail;
}

describe('reading an answer', () => {
  test('tells its words as they come, and at the end what it came to', async () => {
    const shown: string[] = [];
    const end = await readCompletion(
      streamOf([piece(''), piece('The'), piece(' mill', 'stop'), { id: 'req_1', choices: [], usage }]),
      { clock: ticking(), signal: new AbortController().signal, show: ({ text }) => shown.push(text) },
    );
    expect(shown).toEqual(['The', ' mill']);
    expect(end).toEqual({
      text: 'The mill',
      usage,
      timing: { firstMs: 100, totalMs: 200 },
      requestId: 'req_1',
      finishReason: 'stop',
      stopped: false,
    });
  });

  test('a stream that breaks is an error', async () => {
    const broken = streamOf([piece('The')], new Error('cut'));
    const { signal } = new AbortController();
    await expect(readCompletion(broken, { clock: ticking(), signal, show: () => undefined })).rejects.toThrow(
      'cut',
    );
  });

  test('one that the person ended is an answer with less in it', async () => {
    const leaving = new AbortController();
    const cut = streamOf([piece('The')], new Error('aborted'));
    const show = (): void => leaving.abort();
    const end = await readCompletion(cut, { clock: ticking(), signal: leaving.signal, show });
    expect(end).toMatchObject({ text: 'The', usage: null, stopped: true });
  });

  test('time counts from when it was asked, where that is told', async () => {
    const { signal } = new AbortController();
    const clock = ticking();
    const end = await readCompletion(streamOf([piece('The')]), {
      clock,
      signal,
      show: () => undefined,
      startedMs: -900,
    });
    expect(end.timing).toEqual({ firstMs: 1_000, totalMs: 1_100 });
  });
});

test('speed is what came after the first token, over the time that took', () => {
  expect(tokensPerSecond({ ...usage, completion_tokens: 41 }, { firstMs: 210, totalMs: 1_410 })).toBe('33.3');
  expect(tokensPerSecond({ ...usage, completion_tokens: 1 }, { firstMs: 210, totalMs: 1_410 })).toBeNull();
  expect(tokensPerSecond(usage, { firstMs: null, totalMs: 1_410 })).toBeNull();
  expect(tokensPerSecond(usage, { firstMs: 90, totalMs: 90 })).toBeNull();
  expect(tokensPerSecond(null, { firstMs: 90, totalMs: 100 })).toBeNull();
});

describe('what the books say of a request', () => {
  const recorded = { tokens_prompt: 3, tokens_completion: 2, tokens_cached: 1, cost_nano_usd: 70 };
  const absent = (status: number): Error => Object.assign(new Error('refused'), { status });
  const ledgerOf = (responses: readonly (Error | typeof recorded)[]) => {
    const left = [...responses];
    return {
      usage: {
        getRequest: async () => {
          const next = left.shift();
          if (next === undefined) throw new Error('asked too often');
          if (next instanceof Error) throw next;
          return next;
        },
      },
    };
  };
  const clock = { sleep: async () => undefined };

  test('is waited for while they do not know it yet', async () => {
    expect(
      await waitForLedgerUsage(ledgerOf([absent(404), absent(404), recorded]), 'req_1', { clock }),
    ).toEqual(recorded);
    expect(toCompletionUsage(recorded)).toEqual({ ...usage, prompt_tokens_details: { cached_tokens: 1 } });
  });

  test('is not waited for where one may not read them, nor without end', async () => {
    expect(await waitForLedgerUsage(ledgerOf([absent(403)]), 'req_1', { clock })).toBeNull();
    expect(
      await waitForLedgerUsage(ledgerOf(Array.from({ length: 8 }, () => absent(404))), 'req_1', { clock }),
    ).toBeNull();
    expect(await waitForLedgerUsage(ledgerOf([]), null, { clock })).toBeNull();
    expect(toCompletionUsage(null)).toBeNull();
  });
});
