export { startNotices, type NoticeOptions } from './notices.loops.ts';
export {
  resubscribe,
  isUnsubscribed,
  unsubscribe,
  countExternalEmails,
  insertExternalEmail,
  cancelEmails,
} from './external-emails.store.ts';
export { notifyMembers } from './notices.service.ts';
export { serveNotices, type NoticeRoutes } from './preferences.routes.ts';
