/**
 * The wall clock of this process, set by hand. Everything that asks the machine for the time of day sees it: our own
 * system clock as well as libraries. Monotonic time and timers are not touched, as on a machine whose clock is wrong.
 */
const RealDate = Date;

export async function withWrongClock<T>(wrongMs: () => number, work: () => Promise<T>): Promise<T> {
  const nowMs = (): number => RealDate.now() + wrongMs();
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[], made) =>
      args.length === 0
        ? new RealDate(nowMs())
        : (Reflect.construct(target, args, made === globalThis.Date ? RealDate : made) as object),
    get: (target, name) => (name === 'now' ? nowMs : (Reflect.get(target, name, target) as unknown)),
  });
  try {
    return await work();
  } finally {
    globalThis.Date = RealDate;
  }
}
