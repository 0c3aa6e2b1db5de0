/** Replaces the wall clock of this process, for our code and libraries alike. Monotonic time and timers stay correct. */
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
