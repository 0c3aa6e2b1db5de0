import { describe, expect, test } from 'vitest';
import { waitForLedgerUsage, readCompletion, tokensPerSecond, toCompletionUsage } from './completion.ts';

const piece = (content: string, finish: string | null = null) => ({
  id: 'req_1',
  choices: [{ delta: { content }, finish_reason: finish }],
});
const usage = { prompt_tokens: 3, completion_tokens: 2, cost_nano_usd: 70 };

/** Each reading is a tenth of a second later. */
const ticking = (): { monotonicMs(): number } => {
  let ms = 0;
  return { monotonicMs: () => (ms += 100) };
};

async function* streamOf<Item>(items: readonly Item[], fail?: Error): AsyncGenerator<Item> {
  yield* items;
  if (fail !== undefined) throw fail;
}

describe('readCompletion', () => {
  test('reports text as it arrives, and the usage at the end', async () => {
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

  test('throws if the stream breaks', async () => {
    const broken = streamOf([piece('The')], new Error('cut'));
    const { signal } = new AbortController();
    await expect(readCompletion(broken, { clock: ticking(), signal, show: () => undefined })).rejects.toThrow(
      'cut',
    );
  });

  test('returns a partial completion if the user aborts', async () => {
    const leaving = new AbortController();
    const cut = streamOf([piece('The')], new Error('aborted'));
    const show = (): void => leaving.abort();
    const end = await readCompletion(cut, { clock: ticking(), signal: leaving.signal, show });
    expect(end).toMatchObject({ text: 'The', usage: null, stopped: true });
  });

  test('measures time from startedMs if given', async () => {
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

test('tokensPerSecond measures the tokens after the first one', () => {
  expect(tokensPerSecond({ ...usage, completion_tokens: 41 }, { firstMs: 210, totalMs: 1_410 })).toBe('33.3');
  expect(tokensPerSecond({ ...usage, completion_tokens: 1 }, { firstMs: 210, totalMs: 1_410 })).toBeNull();
  expect(tokensPerSecond(usage, { firstMs: null, totalMs: 1_410 })).toBeNull();
  expect(tokensPerSecond(usage, { firstMs: 90, totalMs: 90 })).toBeNull();
  expect(tokensPerSecond(null, { firstMs: 90, totalMs: 100 })).toBeNull();
});

describe('waitForLedgerUsage', () => {
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

  test('waits until the usage is recorded', async () => {
    expect(
      await waitForLedgerUsage(ledgerOf([absent(404), absent(404), recorded]), 'req_1', { clock }),
    ).toEqual(recorded);
    expect(toCompletionUsage(recorded)).toEqual({ ...usage, prompt_tokens_details: { cached_tokens: 1 } });
  });

  test('stops without permission, and after its timeout', async () => {
    expect(await waitForLedgerUsage(ledgerOf([absent(403)]), 'req_1', { clock })).toBeNull();
    expect(
      await waitForLedgerUsage(ledgerOf(Array.from({ length: 8 }, () => absent(404))), 'req_1', { clock }),
    ).toBeNull();
    expect(await waitForLedgerUsage(ledgerOf([]), null, { clock })).toBeNull();
    expect(toCompletionUsage(null)).toBeNull();
  });
});
