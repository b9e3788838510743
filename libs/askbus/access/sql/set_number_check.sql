UPDATE workspaces SET number_check = :number_check WHERE id = :id
