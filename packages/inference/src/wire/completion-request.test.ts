import { Fault } from '@millrace/platform/fault';
import { describe, expect, it } from 'vitest';
import {
  completionChoices,
  completionPrefix,
  maxCompletionPromptTokens,
  readCompletion,
} from './completion-request.ts';

const least = { model: 'm', prompt: 'Once' };

/** The fields that a body is refused for; null if it is accepted. */
function refusedFor(body: unknown): readonly unknown[] | null {
  try {
    readCompletion(body);
    return null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    expect(error.reason).toBe('VALIDATION_FAILED');
    return error.issues.map(({ path }) => path[0]);
  }
}

const prompts = (count: number) => Array.from({ length: count }, () => 'Once');

const table: Record<string, { takes: readonly unknown[]; refuses: readonly unknown[] }> = {
  model: { takes: ['m'], refuses: ['', 7] },
  prompt: { takes: ['', 'Once', ['a', 'b'], prompts(128)], refuses: [[], prompts(129), 7, [7]] },
  max_tokens: { takes: [1, 4_096], refuses: [0, 1.5] },
  temperature: { takes: [0, 2], refuses: [-0.1, 2.1] },
  top_p: { takes: [0, 1], refuses: [-0.1, 1.1] },
  top_k: { takes: [-1, 50], refuses: [-2] },
  min_p: { takes: [0, 1], refuses: [1.1] },
  n: { takes: [1, 128], refuses: [0, 129] },
  stream: { takes: [true, false], refuses: ['yes'] },
  stream_options: { takes: [{ include_usage: true }, null], refuses: [7] },
  logprobs: { takes: [0, 20, null], refuses: [21, true] },
  echo: { takes: [true, false], refuses: ['yes'] },
  stop: { takes: ['.', ['.'], null], refuses: ['', ['']] },
  presence_penalty: { takes: [-2, 2], refuses: [2.1] },
  frequency_penalty: { takes: [-2, 2], refuses: [-2.1] },
  repetition_penalty: { takes: [0.1, 1.5], refuses: [0] },
  logit_bias: { takes: [{ '5': 100 }, null], refuses: [{ '5': 101 }, { word: 1 }] },
  seed: { takes: [0, -5, null], refuses: [0.5] },
  suffix: { takes: ['.', null], refuses: [7] },
  user: { takes: ['u'], refuses: [7] },
};

describe('completion request parameter', () => {
  it.each(Object.entries(table))(
    '%s is accepted in range and at the limit, and refused out of range',
    (name, { takes, refuses }) => {
      for (const value of takes)
        expect(refusedFor({ ...least, [name]: value }), JSON.stringify(value)).toBeNull();
      for (const value of refuses) {
        expect(refusedFor({ ...least, [name]: value }), JSON.stringify(value)).toContain(name);
      }
    },
  );
});

describe('completion request', () => {
  it('has prompts times n choices, at most 128', () => {
    expect(completionChoices(readCompletion({ ...least, prompt: prompts(3), n: 4 }).request)).toBe(12);
    expect(refusedFor({ ...least, prompt: prompts(64), n: 2 })).toBeNull();
    expect(refusedFor({ ...least, prompt: prompts(65), n: 2 })).toEqual(['n']);
  });

  it('has a prompt bound of the bytes of all prompts, each with the suffix', () => {
    const bound = (body: object) => maxCompletionPromptTokens(readCompletion({ ...least, ...body }).request);
    expect(bound({ prompt: 'é' })).toBe(10);
    expect(bound({ prompt: ['é', 'ab'], suffix: 'xyz' })).toBe(26);
  });

  it('is routed by the start of its first prompt', () => {
    expect(completionPrefix(readCompletion({ ...least, prompt: ['a', 'b'] }).request)).toBe('a');
    expect(completionPrefix(readCompletion({ ...least, prompt: 'a'.repeat(5_000) }).request)).toHaveLength(
      2_048,
    );
  });
});
