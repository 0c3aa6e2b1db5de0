/** What a service is called at a Restate that several installations share; its own name where there is no prefix. */
export function serviceName(prefix: string, service: string): string {
  return prefix === '' ? service : `${prefix}_${service}`;
}
