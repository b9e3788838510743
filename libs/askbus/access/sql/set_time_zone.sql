UPDATE workspaces SET time_zone = :time_zone WHERE id = :id
