/** Handles Ctrl-C. The first one aborts the command, unless the command handles Ctrl-C itself. */
export interface Interrupts {
  /** Aborted by the first unhandled Ctrl-C. */
  readonly signal: AbortSignal;
  /** Handles every Ctrl-C until the returned function is called. The newest handler is called first. */
  readonly listen: (handler: () => void) => () => void;
  /** Reports a Ctrl-C. Returns false if the command was already aborted and still runs. */
  readonly raise: () => boolean;
}

export function createInterrupts(): Interrupts {
  const controller = new AbortController();
  const handlers: (() => void)[] = [];
  return {
    signal: controller.signal,
    listen: (handler) => {
      const own = (): void => handler();
      handlers.push(own);
      return () => {
        const at = handlers.indexOf(own);
        if (at >= 0) handlers.splice(at, 1);
      };
    },
    raise: () => {
      const handler = handlers.at(-1);
      if (handler !== undefined) {
        handler();
        return true;
      }
      const isFirst = !controller.signal.aborted;
      controller.abort();
      return isFirst;
    },
  };
}
