import type { Millrace } from '@millrace/sdk';
import {
  waitForLedgerUsage,
  readCompletion,
  toCompletionUsage,
  type CompletionResult,
  type CompletionDelta,
} from '@millrace/sdk/text';
import { useEffect, useReducer, useRef } from 'react';
import { monotonicMs, sleep } from '../../api/clock.ts';
import { useSession } from '../../api/session.tsx';
import { messagesFor, reduceExchanges, type ChatNumbers, type Exchange } from './chat.ts';
import type { Gateway } from './gateway.ts';

export interface ChatParams {
  readonly model: string;
  readonly system: string;
  readonly numbers: ChatNumbers;
}

const clock = { monotonicMs, sleep };

export function useChat(gateway: Gateway<Millrace>) {
  const { client } = useSession();
  const [exchanges, dispatch] = useReducer(reduceExchanges, []);
  const running = useRef<AbortController | null>(null);
  const lastId = useRef(0);
  // Leaving the page stops the model; output until then is charged.
  useEffect(() => () => running.current?.abort(), []);

  async function complete(id: number, before: readonly Exchange[], question: string, params: ChatParams) {
    const leaving = new AbortController();
    running.current = leaving;
    const { signal } = leaving;
    const startedMs = monotonicMs();
    let end: CompletionResult;
    try {
      const messages = messagesFor(params.system, before, question);
      const stream = await gateway.call(
        async (models) =>
          models.chat.create({ model: params.model, messages, ...params.numbers, stream: true }, { signal }),
        signal,
      );
      const show = (part: CompletionDelta): void => dispatch({ kind: 'part', id, part });
      end = await readCompletion(stream, { clock, signal, show, startedMs });
    } catch (error) {
      if (!signal.aborted) {
        dispatch({ kind: 'failed', id, error });
        return;
      }
      const timing = { firstMs: null, totalMs: Math.round(monotonicMs() - startedMs) };
      end = { text: '', usage: null, timing, requestId: null, finishReason: null, stopped: true };
    } finally {
      if (running.current === leaving) running.current = null;
    }
    dispatch({ kind: 'ended', id, end });
    if (!end.stopped) return;
    const usage = await waitForLedgerUsage(client, end.requestId, { clock });
    dispatch({ kind: 'booked', id, usage: toCompletionUsage(usage) });
  }

  function send(before: readonly Exchange[], question: string, params: ChatParams): void {
    lastId.current += 1;
    dispatch({ kind: 'asked', id: lastId.current, question });
    void complete(lastId.current, before, question, params);
  }

  return {
    exchanges,
    isAnswering: exchanges.some(({ state }) => state === 'asked' || state === 'answering'),
    send: (question: string, params: ChatParams) => send(exchanges, question, params),
    /** Regenerates an exchange and removes later ones. */
    again(id: number, params: ChatParams): void {
      const at = exchanges.findIndex((exchange) => exchange.id === id);
      const exchange = exchanges[at];
      if (exchange === undefined) return;
      dispatch({ kind: 'taken-back', id });
      send(exchanges.slice(0, at), exchange.question, params);
    },
    stop: () => running.current?.abort(),
    clear(): void {
      running.current?.abort();
      dispatch({ kind: 'cleared' });
    },
  };
}
