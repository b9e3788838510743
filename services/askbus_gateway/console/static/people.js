// The names of the people in one's projects, read when they are first needed.

import { api } from './api.js';

export class People {
  #names = new Map();
  #reading = new Map();

  /** The person's name, or null where it is not known (yet). */
  nameOf = (id) => this.#names.get(id) ?? null;

  /** Reads who is in a project; at most once, unless that failed. */
  know(projectId) {
    if (!this.#reading.has(projectId)) this.#reading.set(projectId, this.#read(projectId));
    return this.#reading.get(projectId);
  }

  async #read(projectId) {
    try {
      const { members } = await api.members(projectId);
      for (const { id, name } of members) this.#names.set(id, name);
    } catch (error) {
      this.#reading.delete(projectId);
      throw error;
    }
  }
}
