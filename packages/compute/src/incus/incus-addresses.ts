import { createHash } from 'node:crypto';

const networkPattern = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/;

/**
 * An address for a machine in a network such as `10.20.0.1/16` (as Incus writes the gateway's), told by the machine's id and
 * the number of the attempt: the daemon refuses one that another machine has, and the next attempt has another. Null for a
 * network without room. Never the network's own, the gateway's or the broadcast address.
 */
export function addressIn(network: string, externalId: string, attempt: number): string | null {
  const [, ...parts] = networkPattern.exec(network) ?? [];
  const numbers = parts.map(Number);
  const bits = numbers[4] ?? 32;
  if (numbers.length !== 5 || numbers.slice(0, 4).some((byte) => byte > 255) || bits < 8 || bits > 29)
    return null;
  const gateway = numbers.slice(0, 4).reduce((sum, byte) => sum * 256 + byte, 0);
  const size = 2 ** (32 - bits);
  const base = gateway - (gateway % size);
  // Two to size - 2: the first is most often the gateway's, the last is everybody's.
  const digest = createHash('sha256').update(`${externalId} ${attempt}`).digest();
  const offset = 2 + (digest.readUInt32BE(0) % (size - 3));
  const address = base + offset === gateway ? base + 1 : base + offset;
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
}
