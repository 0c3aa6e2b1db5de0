/** The name of a service at a Restate that several installations share. */
export function serviceName(prefix: string, service: string): string {
  return prefix === '' ? service : `${prefix}_${service}`;
}
