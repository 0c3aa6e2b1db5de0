import type { Millrace } from '@millrace/sdk';
import { waitForLedgerUsage } from '@millrace/sdk/text';
import { useEffect, useRef, useState } from 'react';
import { monotonicMs, sleep } from '../../api/clock.ts';
import { useSession } from '../../api/session.tsx';
import type { Gateway } from './gateway.ts';

/** Generated file as a browser object URL. */
export interface OutputFile {
  readonly url: string;
  readonly name: string;
}

export interface GenerationResult {
  readonly files: readonly OutputFile[];
  readonly about: string;
  readonly requestId: string | null;
  readonly totalMs: number;
  /** Null until the usage is recorded. */
  readonly costNanoUsd: number | null;
}

interface GenerationResponse {
  readonly blobs: readonly { readonly blob: Blob; readonly name: string }[];
  readonly requestId: string | null;
}

type State =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'making' }
  | { readonly kind: 'made'; readonly made: GenerationResult }
  | { readonly kind: 'failed'; readonly error: unknown };

const USAGE_RECORDED_AFTER_MS = 1_000;

/** Generates files; the previous ones stay until the new ones are ready. */
export function useGeneration(gateway: Gateway<Millrace>) {
  const { client, place } = useSession();
  const [state, setState] = useState<State>({ kind: 'nothing' });
  const running = useRef<AbortController | null>(null);
  const urls = useRef<readonly string[]>([]);
  const revokeUrls = (): void => {
    for (const url of urls.current) URL.revokeObjectURL(url);
    urls.current = [];
  };
  useEffect(
    () => () => {
      running.current?.abort();
      revokeUrls();
    },
    [],
  );

  async function make(
    about: string,
    use: (models: Millrace, signal: AbortSignal) => Promise<GenerationResponse>,
  ): Promise<void> {
    const leaving = new AbortController();
    running.current = leaving;
    const { signal } = leaving;
    setState({ kind: 'making' });
    const startedMs = monotonicMs();
    try {
      const { blobs, requestId } = await gateway.call((models) => use(models, signal), signal);
      const totalMs = Math.round(monotonicMs() - startedMs);
      revokeUrls();
      const files = blobs.map(({ blob, name }) => ({ url: URL.createObjectURL(blob), name }));
      urls.current = files.map(({ url }) => url);
      const made: GenerationResult = { files, about, requestId, totalMs, costNanoUsd: null };
      setState({ kind: 'made', made });
      // Test mode is free; otherwise the usage record takes about a second.
      if (place.mode === 'test') return;
      await sleep(USAGE_RECORDED_AFTER_MS, signal);
      const usage = await waitForLedgerUsage(client, requestId, { clock: { sleep }, signal });
      if (usage === null || signal.aborted) return;
      setState({ kind: 'made', made: { ...made, costNanoUsd: usage.cost_nano_usd } });
    } catch (error) {
      if (running.current === leaving)
        setState(signal.aborted ? { kind: 'nothing' } : { kind: 'failed', error });
    }
  }

  return { state, make, stop: () => running.current?.abort() };
}
