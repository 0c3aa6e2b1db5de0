import { preparedHistogram, type Recorder } from '@millrace/platform/telemetry';

const usage = preparedHistogram('gen_ai_client_token_usage');

interface ModelRecorders {
  readonly input: Recorder;
  readonly output: Recorder;
}

/** One entry per model; the operator decides how many there are. */
const recorders = new Map<string, ModelRecorders>();

interface TokenUsage {
  readonly model: string;
  readonly tokensPrompt: number;
  readonly tokensCompletion: number;
}

export function recordTokens({ model, tokensPrompt, tokensCompletion }: TokenUsage): void {
  // Images, speech and requests that no engine served.
  if (tokensPrompt === 0 && tokensCompletion === 0) return;
  let known = recorders.get(model);
  if (known === undefined) {
    const labels = { gen_ai_request_model: model } as const;
    known = {
      input: usage.with({ ...labels, gen_ai_token_type: 'input' }),
      output: usage.with({ ...labels, gen_ai_token_type: 'output' }),
    };
    recorders.set(model, known);
  }
  known.input.record(tokensPrompt);
  known.output.record(tokensCompletion);
}
