export { startNotices, type NoticeOptions } from './notices.job.ts';
export { tellPeople } from './notices.service.ts';
export { serveNotices, type NoticeRoutes } from './preferences.routes.ts';
