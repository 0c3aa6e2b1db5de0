export { servePeople, type PeopleRoutes } from './people.routes.ts';
