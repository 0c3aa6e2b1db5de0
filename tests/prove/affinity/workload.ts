import type { Random } from '@millrace/testing/random';
import type OpenAI from 'openai';

/** Tenants with long individual instructions that ask short questions in turn. */

export type Messages = OpenAI.Chat.Completions.ChatCompletionMessageParam[];

export interface Prompt {
  readonly tokens: number;
  readonly cached: number;
}

export type Send = (tenant: number, messages: Messages, nth: number) => Promise<Prompt>;

export interface Workload {
  readonly tenants: number;
  readonly rounds: number;
  /** Length of the instructions; about three characters per token. */
  readonly characters: number;
  readonly random: Random;
}

export interface Outcome {
  readonly requests: number;
  readonly promptTokens: number;
  /** Share of all prompt tokens, including the first requests. */
  readonly cachedShare: number;
  readonly p50Ms: number;
}

const nouns = [
  'fox',
  'mouse',
  'horse',
  'box',
  'tree',
  'moon',
  'frog',
  'pilot',
  'rabbit',
  'hedgehog',
  'bread',
  'song',
];
const verbs = ['found', 'met', 'liked', 'carried', 'asked for', 'walked to', 'sang to', 'helped'];
const questions = [
  'What colour is the sky?',
  'Who are you?',
  'What is an H200?',
  'What day comes after Monday?',
];

export function instructionsOf({ tenants, characters, random }: Workload): readonly string[] {
  return Array.from({ length: tenants }, () => {
    let text = '';
    while (text.length < characters) {
      text += `The ${random.pick(nouns)} ${random.pick(verbs)} the ${random.pick(nouns)}. `;
    }
    return text;
  });
}

export async function run(workload: Workload, instructions: readonly string[], send: Send): Promise<Outcome> {
  const total = workload.tenants * workload.rounds;
  const prompts: Prompt[] = [];
  const tookMs: number[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < total) {
      const nth = next;
      next += 1;
      const tenant = nth % workload.tenants;
      const question = questions[Math.floor(nth / workload.tenants) % questions.length] ?? '';
      const started = performance.now();
      const prompt = await send(
        tenant,
        [
          { role: 'system', content: instructions[tenant] ?? '' },
          { role: 'user', content: question },
        ],
        nth,
      );
      tookMs.push(performance.now() - started);
      prompts.push(prompt);
    }
  };
  await Promise.all([client(), client()]);
  const promptTokens = prompts.reduce((sum, { tokens }) => sum + tokens, 0);
  const cached = prompts.reduce((sum, { cached: tokens }) => sum + tokens, 0);
  const sorted = tookMs.toSorted((a, b) => a - b);
  return {
    requests: total,
    promptTokens,
    cachedShare: cached / Math.max(1, promptTokens),
    p50Ms: sorted[Math.floor(sorted.length / 2)] ?? 0,
  };
}
