import type { FaultIssue } from '@millrace/platform/fault';

/** Sampling checks that chat and completion requests share, with limits that the API reference leaves open. */

interface Sampling {
  readonly n?: number | undefined;
  readonly stop?: string | readonly string[] | null | undefined;
  readonly logit_bias?: Readonly<Record<string, number>> | null | undefined;
}

/** The limit that other providers use too. */
const maxChoices = 128;
const maxStops = 16;
const maxBiases = 1_024;
const tokenId = /^[0-9]{1,9}$/;

export function checkSampling({ n, stop, logit_bias: bias }: Sampling): readonly FaultIssue[] {
  const issues: FaultIssue[] = [];
  if (n !== undefined && n > maxChoices) {
    issues.push({ path: ['n'], message: `must be ${maxChoices} or less`, code: 'too_big' });
  }
  if (stop === '' || (Array.isArray(stop) && stop.includes(''))) {
    issues.push({ path: ['stop'], message: 'must not contain an empty string', code: 'too_small' });
  }
  if (Array.isArray(stop) && stop.length > maxStops) {
    issues.push({ path: ['stop'], message: `must have at most ${maxStops} entries`, code: 'too_big' });
  }
  if (bias !== undefined && bias !== null) issues.push(...checkBiases(Object.keys(bias)));
  return issues;
}

function checkBiases(tokens: readonly string[]): readonly FaultIssue[] {
  if (tokens.length > maxBiases) {
    return [{ path: ['logit_bias'], message: `must have at most ${maxBiases} entries`, code: 'too_big' }];
  }
  const wrong = tokens.find((token) => !tokenId.test(token));
  if (wrong === undefined) return [];
  return [
    { path: ['logit_bias', wrong.slice(0, 40)], message: 'must be the id of a token', code: 'invalid_key' },
  ];
}
