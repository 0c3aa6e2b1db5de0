/** Ctrl-C. The first one asks the command to end; a command that has its own use for it takes it before that. */
export interface Interrupts {
  /** Aborted by the first Ctrl-C that nobody took. */
  readonly signal: AbortSignal;
  /** Takes every Ctrl-C from now on, until the returned function is called. Who listens last is asked first. */
  readonly listen: (handler: () => void) => () => void;
  /** Ctrl-C was pressed. False when the command was asked to end before and still runs. */
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
