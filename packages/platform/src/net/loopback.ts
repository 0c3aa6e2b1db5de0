import ipaddr from 'ipaddr.js';

export function isLoopback(address: string): boolean {
  if (address === 'localhost') return true;
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

/** Whether requests to the URL leave this machine without TLS. */
export function isPlainHttpBeyondLoopback(url: URL): boolean {
  return url.protocol === 'http:' && !isLoopback(hostOf(url));
}

/** The host of a URL, without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}
