import { dateFormat } from './date-format.ts';

const isoTime = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?Z/g;
const format = dateFormat({ dateStyle: 'medium', timeStyle: 'short' });

/** Shows times in a text of the service as local times, such as `Nov 18, 2026, 2:14 PM`. */
export function withLocalTimes(text: string): string {
  return text.replaceAll(isoTime, (at) => format(new Date(at)));
}
